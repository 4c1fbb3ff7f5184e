#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { CLIENT_COMMANDS } from './cli/client/command-names.ts';

// Enables the compile cache of Node, which stores compiled code without types. The next start then takes a third of the
// time. The cache is in the folder of the packages, which other users cannot write, because a writer of the cache
// controls the code that runs. If the folder is not writable, no cache is used.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/berth', import.meta.url)));

/** Only the modules of the command are loaded, so that calls of API users do not wait for the modules of the server. */
async function run(words: readonly string[]): Promise<number> {
  if (!CLIENT_COMMANDS.has(words[0] ?? '')) {
    const { serverCommand } = await import('./cli/server-command.ts');
    return serverCommand(words);
  }
  const [{ clientCommand }, { clientSettings }] = await Promise.all([
    import('./cli/client/command.ts'),
    import('./config/index.ts'),
  ]);
  return clientCommand(words, clientSettings());
}

process.exitCode = await run(process.argv.slice(2));

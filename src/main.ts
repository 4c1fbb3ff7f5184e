#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { CLIENT_COMMANDS } from './cli/client/command-names.ts';

// What V8 has compiled, types already stripped, is kept for the next start, which takes a third of the time. Beside the
// packages, where nobody else writes: whoever writes it says what runs. Where it cannot be written, nothing is kept.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/berth', import.meta.url)));

/** Only what a command needs is loaded: an API user's call does not wait for the server's modules. */
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

#!/usr/bin/env node
import { CLIENT_COMMANDS } from './client/names.ts';

/** Only what a command needs is loaded: an API user's call does not wait for the server's modules. */
async function run(words: readonly string[]): Promise<number> {
  if (!CLIENT_COMMANDS.has(words[0] ?? '')) {
    const { serverCommand } = await import('./server-command.ts');
    return serverCommand(words);
  }
  const [{ clientCommand }, { clientSettings }] = await Promise.all([
    import('./client/command.ts'),
    import('./config.ts'),
  ]);
  return clientCommand(words, clientSettings());
}

process.exitCode = await run(process.argv.slice(2));

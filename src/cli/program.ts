import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { command, takesHelp } from './command/command.ts';
import type { Host } from './command/host.ts';
import { COMMANDS, type CommandRow } from './commands.ts';

/** The tree of commands. */

export const version = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

const DETAILS = `Settings of the server are environment variables: berth config --help lists all of them, and berth COMMAND --help those
of a role. Commands for users of the API need a context (berth login), or BERTH_URL and BERTH_API_KEY.`;

/** The first word that names a command. `help` is followed by the command. */
function wantedCommand(words: readonly string[]): string | undefined {
  const [first, second] = words.filter((word) => !word.startsWith('-'));
  return first === 'help' ? second : first;
}

async function built({ name, summary, load }: CommandRow, host: Host | null): Promise<Command> {
  const made = command(name, summary);
  if (host !== null) await (await load())(made, host);
  return made.commands.length > 0 ? takesHelp(made) : made;
}

/**
 * Builds the program. Loads only the modules of the command that the words name, because a user waits for each of them.
 * @param words the arguments; null: loads all commands
 */
export async function buildProgram(words: readonly string[] | null, host: Host): Promise<Command> {
  const wanted = words === null ? null : wantedCommand(words);
  const program = command('berth', 'the command line of Berth', DETAILS)
    .usage('COMMAND [options]')
    .version(host.version, '--version', 'print the version');
  for (const row of COMMANDS) {
    const isWanted = wanted === null || row.name === wanted;
    program.commandsGroup(`${row.group}:`).addCommand(await built(row, isWanted ? host : null));
  }
  return takesHelp(program);
}

import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { command, takesHelp } from './command/command.ts';
import type { Host } from './command/host.ts';
import type { CommandRow } from './command/row.ts';

/** The tree of commands. */

export const version = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

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
  const program = command('berth', 'the command line of Berth', host.tree.details)
    .usage('COMMAND [options]')
    .version(host.version, '--version', 'print the version');
  for (const row of host.tree.rows) {
    const isWanted = wanted === null || row.name === wanted;
    const made = await built(row, isWanted ? host : null);
    program.commandsGroup(`${row.group}:`).addCommand(made, { hidden: row.isHidden ?? false });
  }
  return takesHelp(program);
}

import { Command, type CommanderError, Help, Option } from 'commander';
import { UsageError } from './usage-error.ts';

/** Creates commands. All commands have the same help, and report wrong usage in one line with the exit code 2. */

/** A group was called without a subcommand. */
export class BareGroup extends Error {
  readonly group: Command;
  constructor(group: Command) {
    super('the command needs a subcommand');
    this.group = group;
  }
}

/** The words that call a command, such as `berth deployments list`. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

/** What the user can write instead of an unknown option or command. */
function alternatives(code: string, command: Command): string {
  const help = command.createHelp();
  const names =
    code === 'commander.unknownOption'
      ? help.visibleOptions(command).map(({ long, short }) => long ?? short ?? '')
      : help.visibleCommands(command).map((each) => each.name());
  return `: use one of ${names.join(', ')}`;
}

const NEEDS_ALTERNATIVES: ReadonlySet<string> = new Set([
  'commander.unknownOption',
  'commander.unknownCommand',
]);

/**
 * The message of commander without what the user may have typed as a secret: the value in `--option=VALUE`, the rest of
 * `-oVALUE`, and arguments that the command does not take.
 */
function withoutValues({ message, code }: CommanderError): string {
  if (code === 'commander.excessArguments') return message.replace(/(but got \d+): [\s\S]*$/, '$1');
  if (code !== 'commander.unknownOption') return message;
  const [, option = '', suggestion = ''] =
    /^error: unknown option '([\s\S]*)'(\n\(Did you mean [^\n]+\))?$/.exec(message) ?? [];
  const name = option.startsWith('--') ? option.replace(/=[\s\S]*$/, '') : option.slice(0, 2);
  return `unknown option '${name}'${suggestion}`;
}

/** The message of commander as one line. Commander adds a suggestion if a known name is similar. */
export function problemLine(error: CommanderError, command: Command): string {
  const line = withoutValues(error)
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/\.$/, '');
  const isUnsuggested = NEEDS_ALTERNATIVES.has(error.code) && !line.includes('Did you mean');
  return isUnsuggested ? `${line}${alternatives(error.code, command)}` : line;
}

/** Replaces the exit of commander by an error. */
function onExit(command: Command): (error: CommanderError) => never {
  return (error) => {
    if (error.exitCode === 0) throw error;
    if (error.code === 'commander.help') throw new BareGroup(command);
    throw new UsageError(problemLine(error, command), 2, pathOf(command));
  };
}

const WIDTH = 100;

/** Joins the lines of each paragraph, so that the help breaks them at its own width. Indented lines stay as they are. */
const reflow = (text: string) => text.replace(/(\S)\n(?=\S)/g, '$1 ');

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** Sets the description of a command: its summary, and further paragraphs. */
export function describe(made: Command, details: string): Command {
  const paragraphs = [sentence(made.summary()), ...(details === '' ? [] : [reflow(details)])];
  return made.description(paragraphs.join('\n\n'));
}

/** Without the default of switches, which is always false. */
function optionDescription(this: void, option: Option): string {
  return new Help().optionDescription(option).replace(/ \(default: (false|true)\)$/, '');
}

/**
 * Creates a command without arguments and options. The caller adds them.
 * @param summary one line, for the list of commands
 * @param details further paragraphs of its help
 */
export function command(name: string, summary: string, details = ''): Command {
  const made = new Command(name).summary(summary);
  return describe(made, details)
    .helpOption('-h, --help', 'print this help')
    .exitOverride(onExit(made))
    .configureHelp({ helpWidth: WIDTH, optionDescription })
    .configureOutput({ writeOut: (text) => console.log(text.trimEnd()), writeErr: () => undefined });
}

/** Adds the command `help` to a group. */
export const takesHelp = (group: Command): Command =>
  group.helpCommand('help [command]', 'print the help of a command');

/** An option with a value. `parse` may throw a UsageError. */
export function valueOption<Value = string>(
  flags: string,
  description: string,
  parse?: (value: string) => Value,
): Option {
  const made = new Option(flags, description);
  return parse === undefined ? made : made.argParser((value) => parse(value));
}

/** An option without a value. Default: false. */
export const switchOption = (flags: string, description: string): Option =>
  new Option(flags, description).default(false);

/** An option with a list of values, which are separated by commas. @param choices the possible values */
export function listOption(flags: string, description: string, choices: readonly string[]): Option {
  const made = new Option(flags, description).choices(choices);
  return made.argParser((value) => {
    const words = value.split(',').map((word) => word.trim());
    const wrong = words.find((word) => !choices.includes(word));
    if (wrong === undefined) return words;
    throw new UsageError(`option '${flags}': "${wrong}" is not one of ${choices.join(', ')}`);
  });
}

/** An option that can be given several times. Its value is the list of the given values. */
export function repeatedOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser((value, given: string[] | undefined) => [
    ...(given ?? []),
    value,
  ]);
}

/**
 * Rejects an option in the place of a value, because the value was forgotten. Commander takes any word as the value. A
 * value that begins with `--` is written as `--option=--value`.
 * @throws UsageError
 */
export function checkValues(command: Command, words: readonly string[]): void {
  // What follows after -- are arguments, such as another program with options of its own.
  const end = words.indexOf('--');
  const given = end < 0 ? words : words.slice(0, end);
  given.forEach((word, index) => {
    const next = given[index + 1] ?? '';
    const found = command.options.find(
      ({ short, long, required }) => required && [short, long].includes(word),
    );
    if (found !== undefined && /^--[a-z]/.test(next))
      throw new UsageError(`option '${found.flags}' needs a value, not ${next.replace(/=.*$/s, '')}`);
  });
}

/** A parser of whole numbers within bounds. */
export function wholeNumber(
  name: string,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= min && number <= max) return number;
    const bounds = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw new UsageError(`${name} must be a whole number ${bounds}, not "${value}"`);
  };
}

import { type Command, CommanderError } from 'commander';
import { BareGroup, checkValues, pathOf } from './command/command.ts';
import type { Host } from './command/host.ts';
import type { CommandTree } from './command/row.ts';
import { UsageError } from './command/usage-error.ts';
import { buildProgram, version } from './program.ts';

/** Runs a command line with a tree of commands, and prints its failure on standard error. */

/** The next step for errors of lower layers, which do not name a next step. */
const NEXT_STEPS: readonly (readonly [RegExp, string])[] = [
  [/PostgreSQL|failed to run a statement/, 'check that PostgreSQL runs and that DATABASE_URL is correct'],
  [/kubeconfig/, 'set KUBECONFIG to a kubeconfig that exists and can be read'],
];

function withNextStep(message: string): string {
  if (message.includes('next:')) return message;
  const step = NEXT_STEPS.find(([pattern]) => pattern.test(message))?.[1];
  return step === undefined ? message : `${message}; next: ${step}`;
}

/** Errors with a next step are printed without a stack. All other errors are bugs and are printed with a stack. */
function describe(error: unknown, page: string): string {
  if (error instanceof UsageError) return `berth: ${error.message}; see ${error.page ?? page} --help`;
  if (!(error instanceof Error)) return `berth: ${String(error)}`;
  if (error.name === 'ConfigError') return `berth: ${error.message}\nsee: berth config --help`;
  return error.message.startsWith('failed to ')
    ? `berth: ${withNextStep(error.message)}`
    : `berth: ${error.stack ?? error.message}`;
}

/** 128 + SIGPIPE, as a shell reports a program that this signal ends. */
const BROKEN_PIPE = 141;

/**
 * Ends the command when the reader has closed the pipe (`| head`). The result of the command is then unknown, so the exit
 * code is not 0.
 */
function endWithReader(): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(BROKEN_PIPE);
  });
}

const HELP_WORDS: ReadonlySet<string> = new Set(['-h', '--help', 'help']);

/** The host of this process. */
export function processHost(tree: CommandTree, words: readonly string[]): Host {
  const host: Host = {
    tree,
    version,
    showsHelp: words.some((word) => HELP_WORDS.has(word)),
    allCommands: () => buildProgram(null, { ...host, showsHelp: false }),
    variable: async (name) => (await import('../config/client-settings.ts')).namedVariable(name),
    clientSettings: async () => (await import('../config/client-settings.ts')).clientSettings(),
    exitCode: 0,
    isOneResult: false,
  };
  return host;
}

const childOf = (parent: Command | undefined, name: string): Command | undefined =>
  parent?.commands.find((each) => each.name() === name);

/** The arguments before and after an argument. The second list is empty without this argument. */
function split(words: readonly string[], at: string): [readonly string[], readonly string[]] {
  const index = words.indexOf(at);
  return index === -1 ? [words, []] : [words.slice(0, index), words.slice(index + 1)];
}

/** The command that the words call, whose help describes its arguments. */
function pageOf(program: Command, words: readonly string[]): string {
  let called = program;
  for (const word of words) {
    const next = childOf(called, word);
    if (next === undefined) break;
    called = next;
  }
  return pathOf(called);
}

/**
 * The command whose help the words ask for: `help COMMAND …` or `GROUP help COMMAND`. null: none.
 * @throws UsageError when it does not exist
 */
function askedFor(program: Command, words: readonly string[]): Command | null {
  const [start, end] = split(
    words.filter((word) => !word.startsWith('-')),
    'help',
  );
  const group = start.reduce<Command | undefined>(childOf, program);
  if (end.length === 0 || group === undefined || group.commands.length === 0) return null;
  return end.reduce((parent, name) => {
    const found = childOf(parent, name);
    if (found === undefined) throw new UsageError(`unknown command '${name}'`, 2, pathOf(parent));
    return found;
  }, group);
}

function failureCode(error: unknown, { isOneResult }: Host): number {
  if (error instanceof UsageError) return isOneResult ? 2 : error.exitCode;
  return isOneResult ? 3 : 1;
}

/** Runs a command, and prints a failure to standard error. Returns the exit code: 2 for wrong arguments. */
export async function runCommandLine(words: readonly string[], host: Host): Promise<number> {
  const program = await buildProgram(words, host);
  program.hook('preAction', (_, running) => checkValues(running, words));
  try {
    const asked = askedFor(program, words);
    if (asked !== null) {
      asked.outputHelp();
      return 0;
    }
    await program.parseAsync(words, { from: 'user' });
    return host.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    if (error instanceof BareGroup) {
      error.group.outputHelp();
      return 0;
    }
    console.error(describe(error, pageOf(program, words)));
    return failureCode(error, host);
  }
}

/** Runs the command line of this process. */
export async function runProcess(tree: CommandTree): Promise<void> {
  endWithReader();
  const words = process.argv.slice(2);
  const code = await runCommandLine(words, processHost(tree, words));
  // A role sets the exit code itself when it fails to stop.
  process.exitCode = code === 0 ? (process.exitCode ?? 0) : code;
}

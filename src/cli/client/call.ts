import type { Command } from 'commander';
import { command, valueOption } from '../command/command.ts';
import type { Host } from '../command/host.ts';
import { FORMATS, type Format, outputOption } from '../command/output.ts';
import { ApiProblem, isPassing, problemText } from './call-problem.ts';
import type { CallOptions, Context } from './context.ts';
import { EXIT, type Exit, Interrupted } from './exit-codes.ts';

/** Commands that call the API. Their modules are loaded when they run. */

/**
 * Adds the options of every command that calls the API.
 * @param formats empty: the command has no result
 */
export function callsApi(made: Command, formats: readonly Format[] = FORMATS): Command {
  if (formats.length > 0) made.addOption(outputOption(formats));
  return made
    .addOption(
      valueOption(
        '--context <context>',
        'context to use; default: the environment, then the current context',
      ),
    )
    .addOption(valueOption('--url <url>', 'base URL of the API'));
}

/** A command that calls the API. */
export const apiCommand = (
  name: string,
  summary: string,
  { details = '', formats }: { details?: string; formats?: readonly Format[] } = {},
): Command => callsApi(command(name, summary, details), formats);

function interruption(): { signal: AbortSignal; end(): void } {
  const stopped = new AbortController();
  const stop = () => {
    stopped.abort();
    // Ends a command that reads standard input, which has no other end at a terminal.
    process.stdin.destroy();
  };
  process.once('SIGINT', stop);
  return { signal: stopped.signal, end: () => process.removeListener('SIGINT', stop) };
}

/** Prints a problem of the API. Returns the exit code. Other errors are thrown again. */
function exitCodeOf(error: unknown, stopped: AbortSignal): number {
  if (stopped.aborted || error instanceof Interrupted) {
    console.error(`berth: ${error instanceof Interrupted ? error.message : 'interrupted'}`);
    return EXIT.interrupted;
  }
  if (!(error instanceof ApiProblem)) throw error;
  console.error(problemText(error));
  return isPassing(error) ? EXIT.unknown : EXIT.failed;
}

/** Runs a part of a command that may be interrupted or rejected, and sets the exit code: the result, or the number itself. */
export async function guarded(
  host: Host,
  run: (stopped: AbortSignal) => Promise<Exit | number | undefined>,
): Promise<void> {
  const { signal, end } = interruption();
  try {
    const result = await run(signal);
    const code = typeof result === 'number' ? result : EXIT[result ?? 'reached'];
    host.exitCode = signal.aborted ? EXIT.interrupted : code;
  } catch (error) {
    host.exitCode = exitCodeOf(error, signal);
  } finally {
    end();
  }
}

/**
 * The action of a command that calls the API.
 * @param run gets the arguments of the command, then its options
 */
export function calling<Args extends readonly unknown[]>(
  host: Host,
  run: (context: Context, ...args: Args) => Promise<Exit | number | undefined>,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    // The last value is the command itself.
    const args = given.slice(0, -1) as unknown as Args;
    const options = args.at(-1) as CallOptions;
    await guarded(host, async (stopped) => {
      const { openContext } = await import('./contexts/connection.ts');
      return run(await openContext(host, options, stopped), ...args);
    });
  };
}

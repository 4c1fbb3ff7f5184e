import type { Command } from 'commander';
import { valueOption } from '../command/command.ts';
import { UsageError } from '../command/usage-error.ts';
import type { Context } from './context.ts';
import type { End } from './exit-codes.ts';
import type { Outcome } from './outcome.ts';
import { quoted } from './table.ts';

/** `--wait`, `--no-wait` and `--timeout`. */

export interface WaitOptions {
  readonly wait: boolean;
  readonly timeout?: number;
}

const DEFAULT_SECONDS = 900;
/** The longest timer of Node, about 24 days. */
const MAX_SECONDS = 2_147_483;

function seconds(text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && number > 0 && number <= MAX_SECONDS) return number;
  throw new UsageError(`--timeout must be a number of seconds above 0, and at most ${MAX_SECONDS}`);
}

/** `--timeout`. @param work what continues after the timeout */
export const timeoutOption = (work = 'rollout') =>
  valueOption(
    '--timeout <seconds>',
    `timeout of the wait, default: ${DEFAULT_SECONDS}. The ${work} continues after the timeout`,
    seconds,
  );

/** Adds `--wait` and `--timeout`. */
export function takesWait(made: Command): Command {
  return made
    .option('--wait', 'wait until the deployment is READY or has failed', false)
    .addOption(timeoutOption());
}

/** Adds `--wait`, `--no-wait` and `--timeout` to a command that waits by default. @param without what `--no-wait` does */
export function waitsByDefault(made: Command, without: string): Command {
  const given = new Set<string>();
  for (const option of ['wait', 'no-wait']) {
    made.on(`option:${option}`, () => {
      if (given.add(option).size === 2) throw new UsageError('--wait excludes --no-wait: remove one of them');
    });
  }
  return made
    .option('--wait', 'wait until the deployment is READY or has failed; this is the default', true)
    .option('--no-wait', without)
    .addOption(timeoutOption());
}

/** Adds `--wait` and `--timeout` to a command that deletes. */
export function takesWaitForDeletion(made: Command): Command {
  return made
    .option('--wait', 'wait until the deployment is gone', false)
    .addOption(timeoutOption('deletion'));
}

/**
 * How long to wait. null: the command does not wait.
 * @throws UsageError for a timeout without a wait
 */
export function waitSeconds({ wait, timeout }: WaitOptions): number | null {
  if (!wait && timeout !== undefined)
    throw new UsageError('--timeout needs a wait: add --wait, or remove --timeout or --no-wait');
  return wait ? (timeout ?? DEFAULT_SECONDS) : null;
}

/** How long a command waits that always waits. */
export const alwaysSeconds = (timeout: number | undefined): number => timeout ?? DEFAULT_SECONDS;

interface Awaited {
  readonly id: string;
  readonly name: string;
}

/** Prints the end of a wait, and the next command. */
function ended(context: Context, { end, message, next }: Outcome, word: string): End {
  context.note(message);
  if (next !== null) context.note(`next: berth ${next} ${quoted(word)}`);
  return end;
}

/**
 * Waits until a deployment has settled. Prints each step, the end, and the next command after a failure.
 * @param awaited the revision that must become active; null: the latest revision
 * @param began when the wait began, as a time of `performance`. Default: now
 * @throws ApiProblem when the API rejects a call
 */
export async function settle(
  context: Context,
  { id, name }: Awaited,
  timeoutSeconds: number,
  awaited: string | null,
  began?: number,
): Promise<End> {
  const { watch } = await import('./watch.ts');
  return ended(context, await watch(context, id, timeoutSeconds, awaited, began), name);
}

/**
 * Waits until a deployment is gone. Prints each step, the end, and the next command after a failure. The next command has
 * the id, because another deployment may have the name.
 * @throws ApiProblem when the API rejects a call
 */
export async function settleDeletion(context: Context, id: string, timeoutSeconds: number): Promise<End> {
  const { watchDeletion } = await import('./watch.ts');
  return ended(context, await watchDeletion(context, id, timeoutSeconds), id);
}

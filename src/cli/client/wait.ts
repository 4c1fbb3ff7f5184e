import type { Command } from 'commander';
import { valueOption } from '../command/command.ts';
import { UsageError } from '../command/usage-error.ts';
import type { Context } from './context.ts';
import type { End } from './exit-codes.ts';
import { quoted } from './table.ts';

/** `--wait` and `--timeout`. */

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

/** `--timeout` of a command that always waits. */
export const timeoutOption = () =>
  valueOption(
    '--timeout <seconds>',
    `timeout of the wait, default: ${DEFAULT_SECONDS}. The rollout continues after the timeout`,
    seconds,
  );

/** Adds `--wait` and `--timeout`. */
export function takesWait(made: Command): Command {
  return made
    .option('--wait', 'wait until the deployment is READY, has failed or is deleted', false)
    .addOption(timeoutOption());
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

/**
 * Waits until a deployment has settled. Prints each step, the end, and the next command after a failure.
 * @param awaited the revision that must become active; null: the latest revision
 * @throws ApiProblem when the API rejects a call
 */
export async function settle(
  context: Context,
  { id, name }: { readonly id: string; readonly name: string },
  timeoutSeconds: number,
  awaited: string | null = null,
): Promise<End> {
  const { watch } = await import('./watch.ts');
  const { end, message } = await watch(context, id, timeoutSeconds, awaited);
  context.note(message);
  const verb =
    message.startsWith('timed out') || end === 'unknown' ? 'deployments watch' : 'revisions explain';
  if (end !== 'reached') context.note(`next: berth ${verb} ${quoted(name)}`);
  return end;
}

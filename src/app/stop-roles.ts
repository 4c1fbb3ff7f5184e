import type { Logger } from '../domain/core/logger.ts';
import type { RunningRole } from './role.ts';

/** A graceful stop takes no longer; twice of it is there, as Kubernetes gives 30 s, of which an API serves on for 5. */
const STOP_TIMEOUT_MS = 9_000;

/**
 * Stops what runs: first, side by side, what was started last, then what the others may still use, which was started first.
 * Each has its whole time, however long the others took.
 * @returns whether all ended in time; what did not is left running, for the next process is waiting
 */
export async function stopRoles(
  running: readonly Pick<RunningRole, 'stop'>[],
  logger: Logger,
): Promise<boolean> {
  const [first, ...others] = running;
  let inTime = true;
  for (const stage of [others, first === undefined ? [] : [first]]) {
    if (stage.length > 0 && !(await stopped(stage, logger))) inTime = false;
  }
  return inTime;
}

async function stopped(roles: readonly Pick<RunningRole, 'stop'>[], logger: Logger): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => {
    logger.error({ seconds: STOP_TIMEOUT_MS / 1000 }, 'failed to stop a role in time; going on without it');
    late.resolve(false);
  }, STOP_TIMEOUT_MS);
  const all = roles.map((role) =>
    role.stop().catch((error) => logger.error({ err: String(error) }, 'failed to stop a role in order')),
  );
  const inTime = await Promise.race([Promise.all(all).then(() => true), late.promise]);
  clearTimeout(timer);
  return inTime;
}

import type { Logger } from '../domain/core/logger.ts';
import type { RunningRole } from './role.ts';

/** Time limit of a graceful stop. It applies twice; Kubernetes allows 30 s, and the API keeps serving for 5 s of them. */
const STOP_TIMEOUT_MS = 9_000;

/**
 * Stops the roles: first, in parallel, those that were started last, then the one that was started first, because the others
 * may still use it. Each has the full time limit.
 * @returns whether all stopped in time. A role that did not stop is left running, because the next process is waiting
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
    logger.error(
      { seconds: STOP_TIMEOUT_MS / 1000 },
      'failed to stop a role in time; next: none, the process exits without it',
    );
    late.resolve(false);
  }, STOP_TIMEOUT_MS);
  const all = roles.map((role) =>
    role.stop().catch((error) => logger.error({ err: String(error) }, 'failed to stop a role in order')),
  );
  const inTime = await Promise.race([Promise.all(all).then(() => true), late.promise]);
  clearTimeout(timer);
  return inTime;
}

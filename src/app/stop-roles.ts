import type { Logger } from '../domain/core/logger.ts';
import type { RunningRole } from './role.ts';

/**
 * Time limit of each of the two stages of a graceful stop. Kubernetes allows 30 s in total. The API keeps serving for
 * the first 5 s.
 */
const STOP_TIMEOUT_MS = 9_000;

/**
 * Stops the roles in two stages, each with the full time limit. First, all roles but the first stop in parallel. Then
 * the first role stops, because the others may use it until they have stopped.
 * @returns whether all roles stopped in time. The time limit applies because the next process waits for this process
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
    role.stop().catch((error) => logger.error({ err: String(error) }, 'failed to stop a role cleanly')),
  );
  const inTime = await Promise.race([Promise.all(all).then(() => true), late.promise]);
  clearTimeout(timer);
  return inTime;
}

/** Finds when processes have no more work, by their processor time. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchRole, ClusterBerth } from './berth.ts';

const POLL_MS = 100;
/** Leases and long polls use less than this share of a core in an interval. */
export const IDLE_SHARE = 0.25;
/** Half a second. */
const INTERVALS_OF_WORK = 5;
const CALM_MS = 1500;
const MS = 1000;

/**
 * Resolves with the time of the last work of these roles, in ms since the epoch. Work is a high load both in one interval and
 * over the last few intervals. A single interval does not count: an idle listener was seen to use 60 ms once a second.
 * @throws Error if there is work after `withinMs`
 */
export async function untilCalm(
  { cpuOf }: Pick<ClusterBerth, 'cpuOf'>,
  roles: readonly BenchRole[],
  withinMs: number,
): Promise<number> {
  const began = Date.now();
  const seen = [{ at: began, cpu: roles.map((role) => cpuOf(role)) }];
  let busy = began;
  while (Date.now() - busy < CALM_MS) {
    if (Date.now() - began > withinMs) throw new Error('failed to wait for calm: the roles still have work');
    await sleep(POLL_MS);
    const now = { at: Date.now(), cpu: roles.map((role) => cpuOf(role)) };
    const [last = now, earlier = seen[0] ?? now] = [seen.at(-1), seen.at(-INTERVALS_OF_WORK)];
    const works = (role: number) =>
      [last, earlier].every((before) => {
        const spent = (now.cpu[role] ?? 0) - (before.cpu[role] ?? 0);
        return (spent * MS) / (now.at - before.at) > IDLE_SHARE;
      });
    if (roles.some((_, role) => works(role))) busy = now.at;
    seen.push(now);
  }
  return busy;
}

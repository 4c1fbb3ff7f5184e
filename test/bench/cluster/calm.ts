/** When processes have nothing left to do, by their processor time. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchRole, ClusterBerth } from './berth.ts';

const LOOK_MS = 100;
/** Less than this in a look is what leases and long polls take. */
export const IDLE_SHARE = 0.25;
/** Half a second. */
const LOOKS_OF_WORK = 5;
const CALM_MS = 1500;
const MS = 1000;

/**
 * When the last sign of work of these roles was seen, in ms since the epoch: a look in which one of them took much, and did over
 * the last looks as well. A listener was seen to take 60 ms at a time, a second apart, after all was done: that is none.
 * @throws Error when they go on for longer than that
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
    if (Date.now() - began > withinMs) throw new Error('failed to wait for calm: the roles go on');
    await sleep(LOOK_MS);
    const now = { at: Date.now(), cpu: roles.map((role) => cpuOf(role)) };
    const [last = now, earlier = seen[0] ?? now] = [seen.at(-1), seen.at(-LOOKS_OF_WORK)];
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

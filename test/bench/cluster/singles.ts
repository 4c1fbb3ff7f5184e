/** Single creations of one tenant, during many creations of another tenant and alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { waitFor } from '../../cluster/wait.ts';
import { isSettled, resourceOf } from './apps.ts';
import { body } from './samples.ts';
import type { World } from './sides.ts';

/** Number of single creations before the others, and after them. Existing objects make each creation slower. */
export const SINGLES = 20;
/** Number of single creations for the warm-up. */
export const WARM = 10;
const POLL_MS = 20;
/**
 * Pauses between single creations, in turn. After the short pause, the tenant still counts as active. After the long one, it
 * does not.
 */
export const PAUSES_MS = { soon: 1000, rare: 11_000 };
/** Time for the cluster's controllers to complete the work of the others. */
const AFTER_MS = 10_000;
/** Time without any event, after which late writes such as the secret sentinels are complete too. */
const CALM_MS = 3_000;

/** The times of a single creation, in milliseconds from before its POST. */
export interface Single {
  /** Until the first of its objects, a Secret, was seen. */
  readonly handed: number;
  /** Until its custom resource was seen. */
  readonly placed: number;
  /** Until its status said that it has settled. */
  readonly settled: number;
}

/** Single creations, by the pause before them. */
export type Singles = Readonly<Record<keyof typeof PAUSES_MS, Single[]>>;

/** Single creations before the others, during them and after them. */
export type BesideAndAlone = Readonly<Record<'before' | 'beside' | 'after', Singles>>;

const noSingles = (): Singles => ({ soon: [], rare: [] });

/**
 * Makes single creations before the others, during them and after them.
 * @param next makes a single creation
 * @param create makes the others; resolves when the last of them is complete
 * @param untilCalm resolves when no work of them is left
 */
export async function besideAndAlone(
  next: () => Promise<Single>,
  create: () => Promise<void>,
  untilCalm: () => Promise<void>,
): Promise<BesideAndAlone> {
  const values: BesideAndAlone = { before: noSingles(), beside: noSingles(), after: noSingles() };
  const alone = async (some: Singles) => {
    for (let index = 0; index < SINGLES; index += 1) {
      const pause = index % 2 === 1 ? 'rare' : 'soon';
      await sleep(PAUSES_MS[pause]);
      some[pause].push(await next());
    }
  };
  for (let index = 0; index < WARM; index += 1) await next();
  await alone(values.before);
  await sleep(PAUSES_MS.rare);
  let isOver = false;
  const creating = create().finally(() => {
    isOver = true;
  });
  // An error is reported below.
  creating.catch(() => undefined);
  for (let pause: keyof typeof PAUSES_MS = 'rare'; !isOver || values.beside.soon.length === 0; ) {
    values.beside[pause].push(await next());
    pause = pause === 'rare' ? 'soon' : 'rare';
    await Promise.race([sleep(PAUSES_MS[pause]), creating]);
  }
  await creating;
  await sleep(AFTER_MS);
  await untilCalm();
  await alone(values.after);
  return values;
}

/** Single creations of the second tenant. */
export interface SinglesOfAnother {
  /** Creates a deployment, and waits until it has settled. */
  next(): Promise<Single>;
  /** Resolves when this number of deployments of the first tenant have settled. */
  untilSettled(count: number): Promise<void>;
  /** Resolves when there was no event for three seconds. */
  untilCalm(): Promise<void>;
}

/** Creates a second tenant, which creates one deployment after the other. */
export async function startSingles({ berth, apps }: World, withinMs: number): Promise<SinglesOfAnother> {
  const key = await berth.otherTenant('other');
  /** When each deployment was first seen and first settled, by id. */
  const handedAt = new Map<string, number>();
  const placedAt = new Map<string, number>();
  const settledAt = new Map<string, number>();
  let lastAt = 0;
  apps.follow((app, { metadata }, at) => {
    lastAt = at;
    const whose = metadata.labels?.[LABELS.deploymentId];
    if (whose !== undefined && !handedAt.has(whose)) handedAt.set(whose, at);
    const id = resourceOf(app)?.spec.deploymentId;
    if (id === undefined) return;
    if (!placedAt.has(id)) placedAt.set(id, at);
    if (!settledAt.has(id) && isSettled(app)) settledAt.set(id, at);
  });
  const until = async (what: string, check: () => boolean): Promise<void> => {
    await waitFor(what, async () => check(), { timeoutMs: withinMs, intervalMs: POLL_MS });
  };
  const own = new Set<string>();
  return {
    async next() {
      const began = performance.now();
      const { id } = await berth.create(body(`single-${own.size}`, 0), key);
      own.add(id);
      await until(`${id} to settle`, () => settledAt.has(id));
      const after = (at = Number.NaN) => at - began;
      return {
        handed: after(handedAt.get(id)),
        placed: after(placedAt.get(id)),
        settled: after(settledAt.get(id)),
      };
    },
    untilCalm: () => until('no work to be left', () => performance.now() - lastAt >= CALM_MS),
    untilSettled: (count) =>
      until(
        'the other deployments to settle',
        () => [...settledAt.keys()].filter((id) => !own.has(id)).length >= count,
      ),
  };
}

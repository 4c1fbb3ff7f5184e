/** Single creations of one tenant beside a crowd of another's, and alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { waitFor } from '../../cluster/wait.ts';
import { isSettled, resourceOf } from './apps.ts';
import { body } from './samples.ts';
import type { World } from './sides.ts';

/** Single creations, one after the other, before the crowd and as many after it: what there is makes each slower. */
export const SINGLES = 20;
/** Single creations before a round counts. */
export const WARM = 10;
const LOOK_MS = 20;
/**
 * From the end of a single one to the next, in turn: one soon after another, for which room was made, and one that comes when its
 * tenant has not been at work for longer than Berth remembers.
 */
export const PAUSES_MS = { soon: 1000, rare: 11_000 };
/** For what the crowd has left to do for the cluster's own controllers. */
const AFTER_MS = 10_000;
/** Without any event: what comes after the last status, such as the witnesses of Secrets, is over too. */
const CALM_MS = 3_000;

/** A single creation, in milliseconds from before its POST. */
export interface Single {
  /** Until the first of its objects was seen, its Secret. */
  readonly handed: number;
  /** Until its custom resource was seen. */
  readonly placed: number;
  /** Until its status said that all of it is there. */
  readonly settled: number;
}

/** By the pause before them. */
export type Singles = Readonly<Record<keyof typeof PAUSES_MS, Single[]>>;

/** Before the crowd, while it comes about, and after it. */
export type BesideAndAlone = Readonly<Record<'before' | 'beside' | 'after', Singles>>;

const none = (): Singles => ({ soon: [], rare: [] });

/**
 * Single ones before the crowd, while it comes about, and after it.
 * @param next makes a single one
 * @param create the crowd; resolves when the last of it is there
 * @param untilCalm resolves when nothing of it is under way any more
 */
export async function besideAndAlone(
  next: () => Promise<Single>,
  create: () => Promise<void>,
  untilCalm: () => Promise<void>,
): Promise<BesideAndAlone> {
  const values: BesideAndAlone = { before: none(), beside: none(), after: none() };
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
  // It is told below.
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

export interface SinglesOfAnother {
  /** Creates one and waits until it is settled. */
  next(): Promise<Single>;
  /** Resolves when so many of the other tenant's have been settled. */
  untilSettled(count: number): Promise<void>;
  /** Resolves when nothing was seen for three seconds. */
  untilCalm(): Promise<void>;
}

/** A tenant beside the first one, which creates one deployment after the other. */
export async function startSingles({ berth, apps }: World, withinMs: number): Promise<SinglesOfAnother> {
  const key = await berth.otherTenant('other');
  /** When each deployment was seen and settled first, by its id. */
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
    await waitFor(what, async () => check(), { timeoutMs: withinMs, intervalMs: LOOK_MS });
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
    untilCalm: () => until('nothing to be under way', () => performance.now() - lastAt >= CALM_MS),
    untilSettled: (count) =>
      until('the crowd to settle', () => [...settledAt.keys()].filter((id) => !own.has(id)).length >= count),
  };
}

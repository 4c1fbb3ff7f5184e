/** Many deployments at once: their creation and their end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RESOURCES, resourcePath } from '../../../src/cluster/kube/client/resources.ts';
import { LABELS, MANAGED_BY } from '../../../src/contract/resource/names.ts';
import { MADE_KINDS } from '../../faults/kinds.ts';
import { PATH } from '../api/bodies.ts';
import { CONNECTIONS } from '../api/measure.ts';
import type { Load, LoadResult } from '../load/load.ts';
import { type Apps, isSettled, resourceOf, type SeenApp } from './apps.ts';
import type { ClusterBerth } from './berth.ts';
import { template } from './samples.ts';

const MS = 1000;
/** A deployment that takes as long would be a fault, not a slow machine: with a pod each they took 0.9 s in a slow hour. */
const PER_DEPLOYMENT_MS = 3000;
const AT_LEAST_MS = 120_000;

export const patience = (count: number) => AT_LEAST_MS + count * PER_DEPLOYMENT_MS;

export interface Filled {
  /** From before the first POST until the last one was all there, in seconds. */
  readonly seconds: number;
  /** Deployments that are all there, by seconds since the first POST. */
  readonly progress: readonly (readonly [number, number])[];
  /** Writes of statuses until then, for each deployment. */
  readonly statuses: number;
}

export interface FillOptions {
  readonly count: number;
  readonly pods: 0 | 1;
  readonly prefix: string;
  /** Of one deployment, when it is all there. */
  readonly objects: number;
  /** Told now and then how many are all there. */
  readonly log?: (line: string) => void;
}

/** Deployments from one word of progress to the next. */
const TOLD_EACH = 250;

/** Tells now and then how many of all are done. */
export function progressOf(count: number, log: ((line: string) => void) | undefined): (done: number) => void {
  let told = 0;
  return (done) => {
    if (done < told + TOLD_EACH) return;
    told = done - (done % TOLD_EACH);
    log?.(`${told} of ${count} deployments are all there`);
  };
}

/** A deployment is all there: each object of it, and its status. */
const isWhole = (app: SeenApp, objects: number) => app.objects.size >= objects && isSettled(app);

/** Creates deployments over some connections; ends with the last answer. */
export const postAll = (
  berth: ClusterBerth,
  load: Load,
  { count, pods, prefix }: Pick<FillOptions, 'count' | 'pods' | 'prefix'>,
): Promise<LoadResult> =>
  load.run({
    url: berth.apiUrl(),
    method: 'POST',
    paths: [PATH],
    expected: 201,
    headers: { 'x-api-key': berth.apiKey },
    body: template(pods),
    namePrefix: prefix,
    requests: count,
    connections: Math.min(CONNECTIONS, count),
  });

/** Creates deployments over some connections and waits until all of each is there. */
export async function fill(
  berth: ClusterBerth,
  apps: Apps,
  load: Load,
  { count, pods, prefix, objects, log }: FillOptions,
): Promise<Filled> {
  const progress: [number, number][] = [];
  const whole = new Set<string>();
  const present = new Set(apps.all().map(({ name }) => name));
  let statuses = -count;
  const counted = apps.follow((app, object) => {
    // Each is made once; what is written of it afterwards is its status.
    if (!present.has(app.name) && object.kind === RESOURCES.ManagedDeployment.kind) statuses += 1;
  });
  const tell = progressOf(count, log);
  const began = performance.now();
  const done = apps.until(
    `${count} deployments`,
    (app) => {
      if (present.has(app.name) || whole.has(app.name) || !isWhole(app, objects)) return false;
      whole.add(app.name);
      progress.push([(performance.now() - began) / MS, whole.size]);
      tell(whole.size);
      return whole.size === count;
    },
    patience(count),
  );
  const posting = postAll(berth, load, { count, pods, prefix });
  const [end] = await Promise.all([done, posting]).finally(counted);
  return { seconds: (end - began) / MS, progress, statuses: statuses / count };
}

/**
 * Deletes every deployment and waits until nothing of them is left. What they own is taken away at once when they are
 * gone: the garbage collector would look at each object three times.
 */
export async function clear(berth: ClusterBerth, apps: Apps): Promise<void> {
  const before = apps.size;
  const deadline = Date.now() + patience(before);
  const until = async (isOver: () => boolean) => {
    while (!isOver()) {
      if (Date.now() > deadline) throw new Error(`failed to clear: ${apps.size} deployments are left`);
      await sleep(50);
    }
  };
  await berth.deleteAll();
  await until(() => apps.all().every((app) => resourceOf(app) === undefined));
  const query = `labelSelector=${LABELS.managedBy}%3D${MANAGED_BY}&propagationPolicy=Background`;
  for (const resource of MADE_KINDS)
    await berth.admin.request(
      'DELETE',
      `${resourcePath(resource, { namespace: berth.namespace })}?${query}`,
      { timeoutMs: patience(before) },
    );
  await until(() => apps.size === 0);
}

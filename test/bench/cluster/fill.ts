/** The creation of many deployments at once. */
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { PATH } from '../api/bodies.ts';
import { CONNECTIONS } from '../api/measure.ts';
import type { Load, LoadResult } from '../load/load.ts';
import { type Apps, isSettled, type SeenApp } from './apps.ts';
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
  /** Writes of statuses until then, for each deployment. */
  readonly statuses: number;
}

export interface FillOptions {
  readonly count: number;
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
const postAll = (
  berth: ClusterBerth,
  load: Load,
  { count, prefix }: Pick<FillOptions, 'count' | 'prefix'>,
): Promise<LoadResult> =>
  load.run({
    url: berth.apiUrl(),
    method: 'POST',
    paths: [PATH],
    expected: 201,
    headers: { 'x-api-key': berth.apiKey },
    body: template(0),
    namePrefix: prefix,
    requests: count,
    connections: Math.min(CONNECTIONS, count),
  });

/** Creates deployments, switched off, over some connections and waits until all of each is there. */
export async function fill(
  berth: ClusterBerth,
  apps: Apps,
  load: Load,
  { count, prefix, objects, log }: FillOptions,
): Promise<Filled> {
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
      tell(whole.size);
      return whole.size === count;
    },
    patience(count),
  );
  const posting = postAll(berth, load, { count, prefix });
  const [end] = await Promise.all([done, posting]).finally(counted);
  return { seconds: (end - began) / MS, statuses: statuses / count };
}

/** Creates many deployments at once. */
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { PATH } from '../api/bodies.ts';
import { CONNECTIONS } from '../api/measure.ts';
import type { Load, LoadResult } from '../load/load.ts';
import { type Apps, isSettled, type SeenApp } from './apps.ts';
import type { ClusterBerth } from './berth.ts';
import { template } from './samples.ts';

const MS = 1000;
/** Maximum time per deployment. With a pod each, a slow machine needed 0.9 s. */
const PER_DEPLOYMENT_MS = 3000;
const MIN_PATIENCE_MS = 120_000;

/** The timeout for this number of deployments, in milliseconds. */
export const patience = (count: number) => MIN_PATIENCE_MS + count * PER_DEPLOYMENT_MS;

/** The result of `fill`. */
export interface Filled {
  /** Seconds from the first POST until the last deployment was complete. */
  readonly seconds: number;
  /** Number of status writes per deployment. */
  readonly statuses: number;
}

export interface FillOptions {
  readonly count: number;
  readonly prefix: string;
  /** Number of objects of one complete deployment. */
  readonly objects: number;
  /** Called with the progress from time to time. */
  readonly log?: (line: string) => void;
}

/** Number of deployments between two progress messages. */
const REPORT_EVERY = 250;

/** Returns a function that logs the progress from time to time. */
export function progressOf(count: number, log: ((line: string) => void) | undefined): (done: number) => void {
  let reported = 0;
  return (done) => {
    if (done < reported + REPORT_EVERY) return;
    reported = done - (done % REPORT_EVERY);
    log?.(`${reported} of ${count} deployments are complete`);
  };
}

/** Whether all objects of a deployment exist, and its status says that it has settled. */
const isComplete = (app: SeenApp, objects: number) => app.objects.size >= objects && isSettled(app);

/** Sends the POST requests over several connections. Resolves after the last response. */
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

/** Creates deployments that are switched off, and waits until all of them are complete. */
export async function fill(
  berth: ClusterBerth,
  apps: Apps,
  load: Load,
  { count, prefix, objects, log }: FillOptions,
): Promise<Filled> {
  const complete = new Set<string>();
  const present = new Set(apps.all().map(({ name }) => name));
  let statuses = -count;
  const counted = apps.follow((app, object) => {
    // The first event of a custom resource is its creation. All others are writes of its status.
    if (!present.has(app.name) && object.kind === RESOURCES.ManagedDeployment.kind) statuses += 1;
  });
  const reportProgress = progressOf(count, log);
  const began = performance.now();
  const done = apps.until(
    `${count} deployments`,
    (app) => {
      if (present.has(app.name) || complete.has(app.name) || !isComplete(app, objects)) return false;
      complete.add(app.name);
      reportProgress(complete.size);
      return complete.size === count;
    },
    patience(count),
  );
  const posting = postAll(berth, load, { count, prefix });
  const [end] = await Promise.all([done, posting]).finally(counted);
  return { seconds: (end - began) / MS, statuses: statuses / count };
}

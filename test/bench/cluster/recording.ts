/** Records the writes from a POST to a settled deployment. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../../src/cluster/kube/client/object.ts';
import { isKubernetesHeartbeat } from '../../faults/heartbeats.ts';
import type { KubernetesExchange, KubernetesProxy } from '../../faults/proxies/kubernetes-traffic.ts';
import { Apps, isSettled, resourceOf } from './apps.ts';
import { CLUSTER_ROLES, type ClusterBerth, type ClusterRole } from './berth.ts';

const READS = new Set(['get', 'list', 'watch']);
/** Leases are heartbeats, and an access review is a POST that stores nothing. */
const NOT_WRITTEN = new Set(['leases', 'selfsubjectaccessreviews']);
const QUIET_MS = 1500;
const QUIET_WITHIN_MS = 60_000;
/** Number of recorded deployments. The one with the fewest writes is used. */
const RECORDED = 6;

/** Whether the request only reads. */
export const isRead = ({ verb }: KubernetesExchange) => READS.has(verb);
/** Whether the request stores something. Heartbeats and reviews do not. */
export const isWrite = ({ verb, resource, dryRun }: KubernetesExchange) =>
  !READS.has(verb) && !NOT_WRITTEN.has(resource) && !dryRun;
/** Whether the request has succeeded. */
export const isDone = ({ status }: KubernetesExchange) => status >= 200 && status < 300;

/** Number of the last requests in the error message. */
const SHOWN_OF_TRAFFIC = 20;

/**
 * Resolves when only heartbeats have passed the proxy for `forMs`.
 * @throws Error with the last requests after `withinMs`
 */
export async function untilQuiet(
  proxy: KubernetesProxy,
  forMs = QUIET_MS,
  withinMs = QUIET_WITHIN_MS,
): Promise<void> {
  const began = Date.now();
  for (;;) {
    const last = proxy
      .exchanges()
      .reduce((at, each) => (isKubernetesHeartbeat(each) ? at : Math.max(at, each.endedAt, each.at)), began);
    const left = last + forMs - Date.now();
    if (left <= 0) return;
    if (Date.now() - began > withinMs) {
      const work = proxy.exchanges().filter((each) => !isKubernetesHeartbeat(each));
      throw new Error(
        `failed to wait for quiet: the last requests were ${summaryOf(work.slice(-SHOWN_OF_TRAFFIC))}`,
      );
    }
    await sleep(left);
  }
}

/** A recorded write. */
export interface Step {
  readonly role: ClusterRole;
  readonly method: string;
  readonly contentType: string;
  readonly isResource: boolean;
  readonly path: string;
  readonly body: KubeObject | undefined;
}

/** The writes of one deployment. */
export interface Recording {
  /** The writes in groups. The writes of one group were in progress at the same time. */
  readonly waves: readonly (readonly Step[])[];
  /** Number of objects in the end. */
  readonly objects: number;
  /** Counts of the writes, as text. */
  readonly summary: string;
  /** Counts of the reads, as text. */
  readonly reads: string;
  /** The following values identify the recorded deployment in the writes, and are replaced. */
  readonly name: string;
  readonly namespace: string;
  readonly deploymentId: string;
  readonly uid: string;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  apply: 'application/apply-patch+yaml',
  patch: 'application/merge-patch+json',
};

function stepOf({ client, verb, method, path, body, resource }: KubernetesExchange): Step {
  return {
    role: client as ClusterRole,
    method,
    contentType: CONTENT_TYPES[verb] ?? 'application/json',
    isResource: resource === 'manageddeployments',
    path,
    body: body as KubeObject | undefined,
  };
}

function wavesOf(exchanges: readonly KubernetesExchange[]): Step[][] {
  const waves: Step[][] = [];
  let role = '';
  let end = 0;
  for (const exchange of exchanges.toSorted((a, b) => a.at - b.at)) {
    if (exchange.client !== role || exchange.at >= end) waves.push([]);
    role = exchange.client;
    end = Math.max(exchange.at >= end ? 0 : end, exchange.endedAt);
    waves.at(-1)?.push(stepOf(exchange));
  }
  return waves;
}

/** Counts of requests as text: `listener: 1 create secrets; operator: 2 apply services, …` */
export function summaryOf(exchanges: readonly KubernetesExchange[]): string {
  return [...Map.groupBy(exchanges, ({ client }) => client)]
    .map(([client, own]) => {
      const kinds = Map.groupBy(own, ({ verb, resource, subresource, path }) => {
        // Requests without a resource, such as /version, are named by their path.
        const what = resource === '' ? path : resource;
        return `${verb} ${what}${subresource === '' ? '' : `/${subresource}`}`;
      });
      return `${client}: ${[...kinds].map(([what, each]) => `${each.length} ${what}`).join(', ')}`;
    })
    .join('; ');
}

const stepCount = ({ waves }: Recording) => waves.flat().length;

/** Number of status writes of one deployment. */
export const statusesOf = ({ waves }: Recording) =>
  waves.flat().filter(({ isResource, path }) => isResource && /\/status(\?|$)/.test(path)).length;

/** Creates some deployments one after the other, with both roles behind the proxy. Then deletes them and stops the roles. */
export async function recordCreation(
  berth: ClusterBerth,
  bodyOf: (name: string) => object,
): Promise<Recording> {
  const { proxy, namespace } = berth;
  await Promise.all(CLUSTER_ROLES.map((role) => berth.start(role, true)));
  const apps = await Apps.start(berth.admin, namespace);
  try {
    const recordings: Recording[] = [];
    for (let index = 0; index <= RECORDED; index += 1) {
      await untilQuiet(proxy);
      proxy.clear();
      const settled = apps.until('a recorded deployment to settle', isSettled);
      const { id } = await berth.create(bodyOf(`recorded-${index}`));
      await settled;
      await untilQuiet(proxy);
      const app = apps.all().find((each) => resourceOf(each)?.spec.deploymentId === id);
      if (app === undefined) throw new Error('failed to record: the deployment is not in the cluster');
      const about = proxy.exchanges().filter((each) => JSON.stringify(each).includes(app.name));
      const writes = about.filter((each) => isWrite(each) && isDone(each));
      recordings.push({
        waves: wavesOf(writes),
        objects: app.objects.size,
        summary: summaryOf(writes),
        reads: summaryOf(about.filter(({ verb }) => READS.has(verb))),
        name: app.name,
        namespace,
        deploymentId: id,
        uid: resourceOf(app)?.metadata.uid ?? '',
      });
    }
    await berth.deleteAll();
    while (apps.size > 0) await sleep(50);
    for (const role of CLUSTER_ROLES) await berth.end(role);
    // The first one is for warm-up. The number of statuses varies, so the one with the fewest writes is used.
    const [, ...counted] = recordings;
    const [fewest] = counted.toSorted((a, b) => stepCount(a) - stepCount(b));
    if (fewest === undefined) throw new Error('failed to record: nothing was written');
    return fewest;
  } finally {
    proxy.clear();
    await apps.stop();
  }
}

/**
 * Creates a value once, when it is first requested. Only floors need a recording, and a comparison of checkouts has no floor.
 * So its Kubernetes and its deployments would be needless.
 */
export function whenAsked<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** The recording up to the first write of an object of this kind, including the writes in progress at that time. */
export function upTo(recording: Recording, kind: string): Recording {
  const last = recording.waves.findIndex((wave) => wave.some(({ body }) => body?.kind === kind));
  if (last < 0) throw new Error(`failed to cut a recording: no object of kind ${kind} was written`);
  return { ...recording, waves: recording.waves.slice(0, last + 1) };
}

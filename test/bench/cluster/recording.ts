/** What the way from a POST to a settled deployment writes, as it was seen, and the same writes again under other names. */
import { setTimeout as sleep } from 'node:timers/promises';
import { uuidv7 } from '../../../src/domain/id.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { Limiter } from '../../../src/kube/limiter.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { isKubernetesHeartbeat } from '../../faults/heartbeats.ts';
import type { KubernetesExchange, KubernetesProxy } from '../../faults/proxies/kubernetes-traffic.ts';
import { Apps, isSettled, resourceOf } from './apps.ts';
import { CLUSTER_ROLES, type ClusterBerth, type ClusterRole } from './berth.ts';

const READS = new Set(['get', 'list', 'watch']);
/** Leases are heartbeats; a question about one's rights is a POST that stores nothing. */
const NOT_WRITTEN = new Set(['leases', 'selfsubjectaccessreviews']);
const QUIET_MS = 1500;
const QUIET_WITHIN_MS = 60_000;
/** Deployments that are recorded, for the one with the fewest writes. */
const RECORDED = 3;
/** As many as each role works on side by side. */
const WORKERS = 16;

export const isWrite = ({ verb, resource, dryRun }: KubernetesExchange) =>
  !READS.has(verb) && !NOT_WRITTEN.has(resource) && !dryRun;
/** Took effect. */
export const isDone = ({ status }: KubernetesExchange) => status >= 200 && status < 300;

/** The last so many requests of traffic that does not end say what it is. */
const SHOWN_OF_TRAFFIC = 20;

/**
 * Resolves when nothing but heartbeats has passed the proxy for a while.
 * @throws Error that names what goes on after `withinMs`
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
        `failed to wait for quiet: it goes on with ${summaryOf(work.slice(-SHOWN_OF_TRAFFIC))}`,
      );
    }
    await sleep(left);
  }
}

interface Step {
  readonly role: ClusterRole;
  readonly method: string;
  readonly contentType: string;
  readonly isResource: boolean;
  readonly path: string;
  readonly body: KubeObject | undefined;
}

export interface Recording {
  /** Writes of one deployment; those of one wave were under way at the same time. */
  readonly waves: readonly (readonly Step[])[];
  /** Objects that are there at its end. */
  readonly objects: number;
  /** How many writes of what, in words. */
  readonly summary: string;
  /** What stands for this deployment in them. */
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

/** `listener: 1 create secrets; operator: 2 apply services, …` */
export function summaryOf(exchanges: readonly KubernetesExchange[]): string {
  return [...Map.groupBy(exchanges, ({ client }) => client)]
    .map(([client, own]) => {
      const kinds = Map.groupBy(
        own,
        ({ verb, resource, subresource }) =>
          `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`,
      );
      return `${client}: ${[...kinds].map(([what, each]) => `${each.length} ${what}`).join(', ')}`;
    })
    .join('; ');
}

const stepCount = ({ waves }: Recording) => waves.flat().length;

/** Writes of the status of one deployment. */
export const statusesOf = ({ waves }: Recording) =>
  waves.flat().filter(({ isResource, path }) => isResource && path.endsWith('/status')).length;

/** Creates some deployments, one after the other, with both roles behind the proxy; they run no more afterwards. */
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
      const writes = proxy
        .exchanges()
        .filter((each) => isWrite(each) && isDone(each) && JSON.stringify(each).includes(app.name));
      recordings.push({
        waves: wavesOf(writes),
        objects: app.objects.size,
        summary: summaryOf(writes),
        name: app.name,
        namespace,
        deploymentId: id,
        uid: resourceOf(app)?.metadata.uid ?? '',
      });
    }
    await berth.deleteAll();
    while (apps.size > 0) await sleep(50);
    for (const role of CLUSTER_ROLES) await berth.end(role);
    // The first one only warms up; of the others the one with the fewest writes: how many statuses there are is chance.
    const [, ...counted] = recordings;
    const [fewest] = counted.toSorted((a, b) => stepCount(a) - stepCount(b));
    if (fewest === undefined) throw new Error('failed to record: nothing was written');
    return fewest;
  } finally {
    proxy.clear();
    await apps.stop();
  }
}

/** Where the writes go on their second time. */
export interface Place {
  readonly name: string;
  readonly namespace: string;
}

function rewriter(recording: Recording, { name, namespace }: Place): (text: string) => string {
  const id = uuidv7();
  return (text) =>
    text
      .replaceAll(recording.name, name)
      .replaceAll(recording.namespace, namespace)
      .replaceAll(recording.deploymentId, id);
}

/** A name as long as the recorded one. */
export const nameLike = ({ name }: Recording, prefix: string, index: number) =>
  `${prefix}-${String(index).padStart(Math.max(1, name.length - prefix.length - 1), '0')}`;

const MADE = new Set(['POST', 'PATCH']);

/** The objects of a deployment as somebody would write them by hand: without the custom resource that owns them, and without Events. */
export function plainObjects({ waves }: Recording): KubeObject[] {
  const made = new Map<string, KubeObject>();
  for (const { method, isResource, body } of waves.flat()) {
    if (isResource || body === undefined || !MADE.has(method) || body.kind === 'Event') continue;
    const { name, namespace, labels, annotations } = body.metadata;
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
    const key = `${body.kind}/${name}`;
    // What is applied again under another manager holds a part only.
    if (!made.has(key))
      made.set(key, {
        ...body,
        metadata: { ...metadata, ...(labels && { labels }), ...(annotations && { annotations }) },
      });
  }
  return [...made.values()];
}

/** The same objects under another name elsewhere. */
export const renamed = (objects: readonly KubeObject[], recording: Recording, place: Place): KubeObject[] =>
  JSON.parse(rewriter(recording, place)(JSON.stringify(objects)));

/** Sends the writes of one deployment; those of the custom resource carry its own uid and version. */
async function playOne(
  recording: Recording,
  place: Place,
  clients: Readonly<Record<ClusterRole, KubeClient>>,
  slots: Readonly<Record<ClusterRole, Limiter>>,
): Promise<void> {
  const rewrite = rewriter(recording, place);
  const never = new AbortController().signal;
  let parent: KubeObject['metadata'] = { name: place.name };
  const send = async ({ role, method, contentType, isResource, path, body }: Step) => {
    const text = rewrite(JSON.stringify(body ?? null)).replaceAll(recording.uid, parent.uid ?? recording.uid);
    const sent = JSON.parse(text) as KubeObject | null;
    if (isResource && sent?.metadata.resourceVersion !== undefined)
      sent.metadata.resourceVersion = parent.resourceVersion ?? '';
    const options = { contentType, ...(sent === null ? {} : { body: sent }) };
    const answer = await clients[role].request(method, rewrite(path), options);
    if (isResource) parent = (answer.body as KubeObject).metadata;
  };
  const roles = Map.groupBy(recording.waves, (wave) => wave[0]?.role);
  for (const role of CLUSTER_ROLES)
    await slots[role].run(async () => {
      for (const wave of roles.get(role) ?? []) await Promise.all(wave.map(send));
    }, never);
}

export interface Player {
  /** Sends the writes of one deployment; resolves when all were answered. */
  one(prefix: string, index: number): Promise<void>;
  close(): Promise<void>;
}

/** Two clients, with as much under way as the roles have. */
export async function openPlayer(
  recording: Recording,
  berth: Pick<ClusterBerth, 'clientOf' | 'namespace'>,
): Promise<Player> {
  const { namespace } = berth;
  const clients = { listener: await berth.clientOf('listener'), operator: await berth.clientOf('operator') };
  const limiter = () => new Limiter({ maxInFlight: WORKERS });
  const slots = { listener: limiter(), operator: limiter() };
  return {
    one: (prefix, index) =>
      playOne(recording, { name: nameLike(recording, prefix, index), namespace }, clients, slots),
    close: async () => {
      await Promise.all(Object.values(clients).map((client) => client.close()));
    },
  };
}

/** Sends the writes of `count` deployments at once. @param done told of each when all of its writes were answered */
export async function play(
  { one }: Player,
  { prefix, count }: { prefix: string; count: number },
  done: (at: number) => void = () => undefined,
): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      await one(prefix, index);
      done(performance.now());
    }),
  );
}

/** The recording up to the first write of an object of this kind, with what was under way beside it. */
export function upTo(recording: Recording, kind: string): Recording {
  const last = recording.waves.findIndex((wave) => wave.some(({ body }) => body?.kind === kind));
  if (last < 0) throw new Error(`failed to cut a recording: nothing of kind ${kind} was written`);
  return { ...recording, waves: recording.waves.slice(0, last + 1) };
}

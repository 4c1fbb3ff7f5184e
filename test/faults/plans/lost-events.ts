/** Watch events that a role does not receive, and when it recovers. */

import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import type { KubeObject, UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES, type Resource } from '../../../src/cluster/kube/client/resources.ts';
import type { FaultPlan, Violation, Workload } from '../plan.ts';
import type { KubernetesRequest, WatchEvent } from '../proxies/kubernetes-traffic.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultRole, FaultWorld } from '../world.ts';
import { EffectDidNotOccur } from './kill.ts';
import { ALL_KINDS, broken, live, prepared, runningDeployment, within } from './steps.ts';

const RECOVERED_WITHIN_S = 30;
/** Interval between two lists of the cache, instead of half an hour. */
const RELIST_MS = 5_000;

const watchOf =
  (role: FaultRole, { plural }: Resource) =>
  ({ client, verb, resource }: KubernetesRequest) =>
    verb === 'watch' && client === role && resource === plural;

const update = workloadNamed('update');

interface Lost {
  readonly name: string;
  readonly role: FaultRole;
  readonly resource: Resource;
  readonly says: string;
  readonly like: Workload;
  readonly isIt: (event: WatchEvent) => boolean;
}

interface Observed {
  readonly metadata: { readonly generation?: number };
  readonly spec?: {
    readonly recordGeneration?: number;
    readonly resources?: { requests?: { storage?: string } };
  };
  readonly status?: {
    readonly observedRecordGeneration?: number;
    readonly status?: string;
    readonly readyReplicas?: number;
    readonly conditions?: readonly { type: string; reason?: string; status: string }[];
  };
}
const of = ({ object }: WatchEvent) => object as unknown as Observed;
const isModified = ({ type }: WatchEvent) => type === 'MODIFIED';
const isComplete = (event: WatchEvent) =>
  isModified(event) &&
  (of(event).status?.conditions ?? []).some(({ reason }) => reason === 'NewReplicaSetAvailable');

const LOST: readonly Lost[] = [
  {
    name: 'operator/spec',
    role: 'operator',
    resource: RESOURCES.ManagedDeployment,
    says: 'that the spec of a custom resource has changed',
    like: update,
    isIt: (event) => isModified(event) && (of(event).spec?.recordGeneration ?? 0) > 1,
  },
  {
    name: 'operator/available',
    role: 'operator',
    resource: RESOURCES.Deployment,
    says: 'that a Deployment has rolled out',
    like: update,
    isIt: isComplete,
  },
  {
    name: 'operator/statefulset-ready',
    role: 'operator',
    resource: RESOURCES.StatefulSet,
    says: 'that a StatefulSet has its pod',
    like: workloadNamed('create'),
    isIt: (event) => isModified(event) && (of(event).status?.readyReplicas ?? 0) > 0,
  },
  {
    name: 'operator/volume',
    role: 'operator',
    resource: RESOURCES.PersistentVolumeClaim,
    says: 'that a claim has changed',
    like: workloadNamed('storage'),
    isIt: isModified,
  },
  {
    name: 'listener/status',
    role: 'listener',
    resource: RESOURCES.ManagedDeployment,
    says: 'of the status that the operator wrote',
    like: update,
    isIt: (event) => isModified(event) && (of(event).status?.observedRecordGeneration ?? 0) > 1,
  },
  {
    name: 'listener/deleted',
    role: 'listener',
    resource: RESOURCES.ManagedDeployment,
    says: 'that a custom resource is gone',
    like: workloadNamed('delete'),
    isIt: ({ type }) => type === 'DELETED',
  },
];

/**
 * Drops an event, and then ends the watch with 410. The API server never loses a single event: it closes a stream that
 * cannot keep up, and forgets its history when its cache is rebuilt. So the position in the stream is lost with the event.
 */
function loseEvent(
  world: FaultWorld,
  { role, resource, isIt }: Omit<Lost, 'like' | 'name' | 'says'>,
): Promise<void> {
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  let isLost = false;
  const losing = world.kubernetes.add({
    match: watchOf(role, resource),
    fault: {
      kind: 'filter-watch',
      // Later events are dropped too, until the stream ends.
      drop: (event) => {
        if (!isLost && isIt(event)) {
          isLost = true;
          resolve();
        }
        return isLost;
      },
    },
  });
  return lost.then(() => {
    world.kubernetes.add({
      match: watchOf(role, resource),
      fault: { kind: 'cut-watch', afterEvents: 0, how: 'gone-event' },
      times: 1,
    });
    losing.remove();
  });
}

function lostPlan(lost: Lost): FaultPlan {
  const { name, role, says, like } = lost;
  return {
    name: `watch/lost/${name}`,
    says: `${like.name}: the ${role} gets no event ${says}: the event and all later ones are dropped, and the watch ends with 410. Correct within ${RECOVERED_WITHIN_S} s.`,
    like,
    run: async (world): Promise<Violation[]> => {
      const given = await prepared(world, like);
      let lostAt: number | undefined;
      const losing = loseEvent(world, lost).then(() => {
        lostAt = Date.now();
      });
      const ended = like.run(world, given).then((now) => like.end(world, now));
      await Promise.race([losing, ended]);
      const effect = { role, what: `event of ${lost.resource.plural}`, occurrence: 1 } as const;
      await ended;
      if (lostAt === undefined) throw new EffectDidNotOccur(effect);
      const seconds = (Date.now() - lostAt) / 1000;
      return seconds <= RECOVERED_WITHIN_S ? [] : [broken(`recovered ${seconds} s after the loss`)];
    },
  };
}

/** Kinds whose objects are recreated after a deletion, with the suffix of the name. */
const RECREATED: readonly (readonly [Resource, string])[] = [
  [RESOURCES.Deployment, '-api'],
  [RESOURCES.StatefulSet, '-db'],
  [RESOURCES.Service, ''],
  [RESOURCES.ServiceAccount, ''],
  [RESOURCES.HorizontalPodAutoscaler, '-api'],
  [RESOURCES.PodDisruptionBudget, '-api'],
  [RESOURCES.NetworkPolicy, '-db'],
  [RESOURCES.ManagedDeployment, ''],
];

function deletedPlan([resource, suffix]: readonly [Resource, string]): FaultPlan {
  const role = resource === RESOURCES.ManagedDeployment ? 'listener' : 'operator';
  return {
    name: `watch/lost/deleted-${resource.plural}`,
    says: `A user deletes a ${resource.kind}. The ${role} gets no event, and its watch ends with 410: it is recreated within ${RECOVERED_WITHIN_S} s.`,
    run: async (world): Promise<Violation[]> => {
      const { id, app } = await runningDeployment(world, ALL_KINDS);
      const name = `${app}${suffix}`;
      const { metadata } = await live(world, resource, name);
      const lost = loseEvent(world, {
        role,
        resource,
        isIt: ({ type, object }) => type === 'DELETED' && object.metadata.name === name,
      });
      await world.kubectl('delete', resource.plural, name, '--wait=false');
      await lost;
      const isRecreated = ({ metadata: { uid } }: UntypedObject) => uid !== metadata.uid;
      const late = await within(RECOVERED_WITHIN_S, `another ${resource.kind}`, async () =>
        isRecreated(await live(world, resource, name)),
      );
      await world.ready(id);
      return late;
    },
  };
}

const isTouched = ({ metadata }: KubeObject) => metadata.annotations?.[TOUCHED] !== undefined;
const TOUCHED = 'faults.example/touched';
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const lostAlone: FaultPlan = {
  name: 'watch/lost-event/relisted',
  says: `One event is dropped on a working stream: a cache that lists every ${RELIST_MS / 1000} s (by default every half hour) is correct within ${RECOVERED_WITHIN_S} s.`,
  run: async (world): Promise<Violation[]> => {
    const { app } = await runningDeployment(world);
    const { admin, namespace } = world;
    const { promise: lost, resolve } = Promise.withResolvers<void>();
    let isLost = false;
    const cache = new Reflector<UntypedObject>({
      client: {
        listAll: (...args) => admin.listAll(...args),
        find: (...args) => admin.find(...args),
        watch: (resource, options, onEvent) =>
          admin.watch(resource, options, (event: Parameters<typeof onEvent>[0]) => {
            if (isLost || !isTouched(event.object)) return onEvent(event);
            isLost = true;
            resolve();
          }),
      },
      resource: RESOURCES.Service,
      namespace,
      watchSeconds: { min: RELIST_MS / 1000, max: RELIST_MS / 1000 },
      relistEveryMs: RELIST_MS,
      logger: silent,
    });
    const known = () => cache.store.get(`${namespace}/${app}`);
    cache.start();
    try {
      await cache.waitForSync(AbortSignal.timeout(RECOVERED_WITHIN_S * 1000));
      await world.kubectl('annotate', 'services', app, `${TOUCHED}=yes`);
      await lost;
      const service = known();
      if (service === undefined || isTouched(service)) return [broken('the event was not lost')];
      return await within(RECOVERED_WITHIN_S, 'a list to deliver the change', async () => {
        const now = known();
        return now !== undefined && isTouched(now);
      });
    } finally {
      await cache.stop();
    }
  },
};

export const lostEventPlans: readonly FaultPlan[] = [
  ...LOST.map(lostPlan),
  ...RECREATED.map(deletedPlan),
  lostAlone,
];

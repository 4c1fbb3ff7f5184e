/** Resources that wait for a person, and what the person does. */
import type { KubeObject } from '../../../../../src/cluster/kube/client/object.ts';
import { CONFIG, NAMESPACE, RESOURCE_ID, resource, revised, settled, steps, World } from '../fixtures.ts';

export interface StateForPerson {
  readonly name: string;
  /** Reason of Ready and of Stalled. */
  readonly reason: string;
  readonly world: () => Promise<World>;
  /** Removes the obstacle, without a change of the spec if possible. */
  readonly resolve: (world: World) => void;
}

const MINIMAL = { revision: { image: 'web:1' } };
const HOST = 'shop.example.com';
const WITH_URL = { ...MINIMAL, routing: { url: `https://${HOST}` } };
const CLAIM = `PersistentVolumeClaim/${NAMESPACE}/web-db`;
const SECRETS = [`Secret/${NAMESPACE}/web-db`, `Secret/${NAMESPACE}/web-db-copy`];
const HTTP_ROUTE = `HTTPRoute/${NAMESPACE}/web`;
const NEIGHBOUR = 'ManagedDeployment/other/neighbour';

async function converged(world: World): Promise<World> {
  await world.converge();
  return world;
}

function refuseHosts(world: World, refused_hosts: string[]): World {
  world.policy = { ...world.policy, custom_url: { ...world.policy.custom_url, refused_hosts } };
  world.restart();
  return world;
}

function withGateway(): World {
  const world = new World(WITH_URL);
  const routing = { mode: 'gateway', className: 'edge/public', tlsIssuer: null } as const;
  world.restart({ ...CONFIG, routing });
  return world;
}

function answerOfGateway(world: World, status: 'True' | 'False', reason: string): void {
  world.cluster.edit(HTTP_ROUTE, (route) => {
    const { generation: observedGeneration } = route.metadata;
    const conditions = [{ type: 'Accepted', status, reason, message: '', observedGeneration }];
    const parentRef = { namespace: 'edge', name: 'public' };
    route['status'] = { parents: [{ parentRef, controllerName: 'x', conditions }] };
  });
}

async function changedClaim(change: (claim: KubeObject & Record<string, unknown>) => void): Promise<World> {
  const world = await settled(revised('web:1', 1));
  world.cluster.edit(CLAIM, change);
  await world.reconcileOnce();
  return world;
}

/** The content of the former credentials, which the running app and database still have. */
const credentials = new WeakMap<World, KubeObject[]>();

export const STATES_FOR_PERSON: readonly StateForPerson[] = [
  {
    name: 'with a Service of the same name that Berth did not create',
    reason: 'Conflict',
    world: async () => {
      const world = new World(MINIMAL);
      const metadata = { name: 'web', namespace: NAMESPACE, labels: { app: 'legacy' } };
      world.cluster.put({ apiVersion: 'v1', kind: 'Service', metadata });
      await steps(world, 4);
      return world;
    },
    resolve: (world) => world.cluster.remove(`Service/${NAMESPACE}/web`),
  },
  {
    name: 'with a Secret of the same name as its credentials',
    reason: 'Conflict',
    world: async () => {
      const world = new World(MINIMAL);
      const metadata = { name: 'web-db', namespace: NAMESPACE };
      world.cluster.put({ apiVersion: 'v1', kind: 'Secret', metadata });
      await steps(world, 2);
      return world;
    },
    resolve: (world) => world.cluster.remove(`Secret/${NAMESPACE}/web-db`),
  },
  {
    name: 'without a right that the operator needs',
    reason: 'Refused',
    world: async () => {
      const world = new World(MINIMAL);
      const message = 'services is forbidden: User "operator" cannot create resource "services"';
      world.cluster.faults = Array.from({ length: 9 }, () => ({
        when: ({ verb, id }) => verb === 'create' && id === 'Service/web',
        error: 'forbidden',
        message,
      }));
      await steps(world, 2);
      return world;
    },
    resolve: (world) => {
      world.cluster.faults = [];
    },
  },
  {
    name: 'whose database has lost its credentials',
    reason: 'CredentialsLost',
    world: async () => {
      const world = await settled(revised('web:1', 1));
      credentials.set(
        world,
        SECRETS.map((id) => world.cluster.get(id) as KubeObject),
      );
      for (const id of SECRETS) world.cluster.remove(id);
      await world.reconcileOnce();
      return world;
    },
    resolve: (world) => {
      for (const secret of credentials.get(world) ?? []) world.cluster.put(secret);
    },
  },
  {
    name: 'whose database has lost its PersistentVolume',
    reason: 'VolumeLost',
    world: () =>
      changedClaim((claim) => {
        claim['status'] = { ...(claim['status'] as object), phase: 'Lost' };
      }),
    resolve: (world) =>
      world.cluster.edit(CLAIM, (claim) => {
        claim['status'] = { ...(claim['status'] as object), phase: 'Bound' };
      }),
  },
  {
    name: 'whose volume claim was deleted while the database runs',
    reason: 'VolumeBeingDeleted',
    world: () =>
      changedClaim(({ metadata }) => {
        metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
        metadata.finalizers = ['kubernetes.io/pvc-protection'];
      }),
    // In a cluster, the person deletes the pod after the data is saved.
    resolve: (world) =>
      world.cluster.edit(CLAIM, ({ metadata }) => {
        delete metadata.deletionTimestamp;
        delete metadata.finalizers;
      }),
  },
  {
    name: 'with a host that the policy rejects',
    reason: 'RouteRefused',
    world: () => converged(refuseHosts(new World(WITH_URL), [HOST])),
    resolve: (world) => refuseHosts(world, []),
  },
  {
    name: 'with a host of another deployment',
    reason: 'RouteRefused',
    world: async () => {
      const world = new World(WITH_URL);
      const uid = 'b1f0c7de-0000-4000-8000-000000000009';
      const creationTimestamp = '2025-01-01T00:00:00Z';
      const metadata = { name: 'neighbour', namespace: 'other', uid, creationTimestamp };
      const own = resource(WITH_URL);
      world.cluster.remove(RESOURCE_ID);
      world.cluster.put({
        ...own,
        metadata: { ...own.metadata, creationTimestamp: '2026-01-01T00:00:00Z' },
      });
      world.cluster.put({ ...own, metadata });
      return await converged(world);
    },
    resolve: (world) => world.cluster.remove(NEIGHBOUR),
  },
  {
    name: 'with a route that its gateway rejects',
    reason: 'RouteRefused',
    world: async () => {
      const world = await converged(withGateway());
      answerOfGateway(world, 'False', 'NotAllowedByListeners');
      return await converged(world);
    },
    resolve: (world) => answerOfGateway(world, 'True', 'Accepted'),
  },
  {
    name: 'with a route in a cluster without its kind',
    reason: 'RouteUnsupported',
    world: async () => {
      const world = withGateway();
      world.cluster.missingKinds.add('HTTPRoute');
      return await converged(world);
    },
    resolve: (world) => {
      world.cluster.missingKinds.clear();
      // The gateway accepts the route that the operator then creates.
      const { settle } = world.cluster;
      world.cluster.settle = () => {
        settle.call(world.cluster);
        const route = world.cluster.get(HTTP_ROUTE);
        if (route !== undefined && route['status'] === undefined) answerOfGateway(world, 'True', 'Accepted');
      };
    },
  },
  {
    name: 'that serves, and whose spec has lost its image',
    reason: 'NoImage',
    world: async () => {
      const world = await settled(MINIMAL);
      world.change({ revision: {} });
      return await converged(world);
    },
    resolve: (world) => world.change(MINIMAL),
  },
];

/** Changes with kubectl to the objects of a deployment: reverted, kept, recreated or left alone. */
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES, type Resource } from '../../../src/cluster/kube/client/resources.ts';
import { appName, LABELS } from '../../../src/contract/resource/names.ts';
import { SENTINEL_LABEL } from '../../../src/workloads/objects/secret-sentinel.ts';
import { smallDeployment } from '../../integration/harness/samples.ts';
import { markForeign } from '../oracles/foreign-fields.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import { SETTLED_MS } from '../record.ts';
import type { FaultWorld } from '../world.ts';
import {
  ALL_KINDS,
  broken,
  change,
  imageChange,
  live,
  type RunningDeployment,
  runningDeployment,
  stays,
  within,
} from './steps.ts';

const IN_SUBSET: ReadonlySet<string> = new Set(['kubectl/deleted/services']);
const WITHIN_S = 5;
/** How long the plan checks that a number of pods that another manager has set stays. */
const ALONE_S = 8;

type Patch = readonly { readonly op: string; readonly path: string; readonly value?: unknown }[];

interface Edit {
  readonly what: string;
  readonly resource: Resource;
  /** Suffix of its name. */
  readonly suffix: string;
  readonly patch: Patch;
  /** Reads the edited value from the object. */
  readonly value: (object: UntypedObject) => unknown;
}

/** A field of an object, by its JSON pointer. */
function at(object: unknown, path: string): unknown {
  return path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/'))
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], object);
}

const edit = (what: string, resource: Resource, suffix: string, path: string, value: unknown): Edit => ({
  what,
  resource,
  suffix,
  patch: [{ op: 'replace', path, value }],
  value: (object) => at(object, path),
});

const EDITS: readonly Edit[] = [
  edit(
    'image',
    RESOURCES.Deployment,
    '-api',
    '/spec/template/spec/containers/0/image',
    'registry.example/another:1',
  ),
  edit(
    'image-of-database',
    RESOURCES.StatefulSet,
    '-db',
    '/spec/template/spec/containers/0/image',
    'registry.example/another:1',
  ),
  edit('port', RESOURCES.Service, '', '/spec/ports/0/port', 81),
  edit('ceiling', RESOURCES.HorizontalPodAutoscaler, '-api', '/spec/maxReplicas', 9),
  edit('ingress-rules', RESOURCES.NetworkPolicy, '-db', '/spec/ingress', []),
  edit(
    'token',
    RESOURCES.ServiceAccount,
    '',
    `/metadata/labels/${LABELS.managedBy.replaceAll('/', '~1')}`,
    'someone',
  ),
  edit('wish', RESOURCES.ManagedDeployment, '', '/spec/revision/image', 'registry.example/another:1'),
  edit(
    'label',
    RESOURCES.ManagedDeployment,
    '',
    `/metadata/labels/${LABELS.tenantId.replaceAll('/', '~1')}`,
    'someone',
  ),
  edit(
    'label-of-deployment',
    RESOURCES.Deployment,
    '-api',
    `/metadata/labels/${LABELS.deploymentId.replaceAll('/', '~1')}`,
    'another',
  ),
];

function editPlan({ what, resource, suffix, patch, value }: Edit): FaultPlan {
  return {
    name: `kubectl/edited/${resource.plural}-${what}`,
    says: `A user edits a ${resource.kind} (${what}): the edit is reverted within ${WITHIN_S} s, and the object is not replaced.`,
    run: async (world): Promise<Violation[]> => {
      const { id, app } = await runningDeployment(world, ALL_KINDS);
      const name = `${app}${suffix}`;
      const before = await live(world, resource, name);
      const wanted = JSON.stringify(value(before));
      await world.kubectl('patch', resource.plural, name, '--type=json', '-p', JSON.stringify(patch));
      const late = await within(WITHIN_S, `${resource.kind} ${name} to have its previous value`, async () => {
        const now = await live(world, resource, name);
        return JSON.stringify(value(now)) === wanted;
      });
      await world.ready(id);
      const { metadata } = await live(world, resource, name);
      return metadata.uid === before.metadata.uid ? late : [...late, broken('the object was replaced')];
    },
  };
}

/** Objects that are recreated after a deletion. A claim is recreated too, but its data is lost, so it is not in this list. */
const CHILDREN: readonly (readonly [Resource, string])[] = [
  [RESOURCES.Deployment, '-api'],
  [RESOURCES.Deployment, '-queue'],
  [RESOURCES.Deployment, '-cache'],
  [RESOURCES.StatefulSet, '-db'],
  [RESOURCES.Service, ''],
  [RESOURCES.ServiceAccount, ''],
  [RESOURCES.HorizontalPodAutoscaler, '-api'],
  [RESOURCES.PodDisruptionBudget, '-api'],
  [RESOURCES.NetworkPolicy, '-db'],
  [RESOURCES.ControllerRevision, '-1'],
];

function deletedPlan([resource, suffix]: readonly [Resource, string]): FaultPlan {
  const name = `kubectl/deleted/${resource.plural}${resource === RESOURCES.Deployment ? suffix : ''}`;
  return {
    name,
    inSubset: IN_SUBSET.has(name),
    says: `A user deletes a ${resource.kind} (*${suffix}): it is recreated within ${WITHIN_S} s, and the volume stays the same.`,
    run: async (world): Promise<Violation[]> => {
      const shop = await runningDeployment(world, ALL_KINDS);
      const object = `${shop.app}${suffix}`;
      const before = await live(world, resource, object);
      const volume = await volumeOf(world, shop);
      await world.kubectl('delete', resource.plural, object, '--wait=false');
      const late = await within(WITHIN_S, `another ${resource.kind} ${object}`, async () => {
        const { metadata } = await live(world, resource, object);
        return metadata.uid !== before.metadata.uid;
      });
      await world.ready(shop.id);
      return (await volumeOf(world, shop)) === volume ? late : [...late, broken('the claim was replaced')];
    },
  };
}

const volumeOf = async (world: FaultWorld, { app }: RunningDeployment) =>
  (await live(world, RESOURCES.PersistentVolumeClaim, `${app}-db`)).metadata.uid;

const replicas = async (world: FaultWorld, { app }: RunningDeployment) =>
  at(await live(world, RESOURCES.Deployment, `${app}-api`), '/spec/replicas');

const others: readonly FaultPlan[] = [
  {
    name: 'kubectl/deleted/manageddeployments',
    says: 'A user deletes the custom resource, and everything with it: it is recreated with the same volume.',
    run: async (world): Promise<Violation[]> => {
      const shop = await runningDeployment(world);
      const before = await live(world, RESOURCES.ManagedDeployment, shop.app);
      const volume = await volumeOf(world, shop);
      await world.kubectl('delete', 'manageddeployments', shop.app, '--wait=false');
      const late = await within(WITHIN_S, 'another custom resource', async () => {
        const { metadata } = await live(world, RESOURCES.ManagedDeployment, shop.app);
        return metadata.uid !== before.metadata.uid;
      });
      const unready = await within(60, 'all objects to exist again', async () => {
        const { status } = (await world.call('GET', `/v2/deployments/${shop.id}`)).body;
        return status === 'READY' && (await live(world, RESOURCES.Deployment, `${shop.app}-api`));
      });
      return (await volumeOf(world, shop)) === volume
        ? [...late, ...unready]
        : [...late, broken('the claim was replaced')];
    },
  },
  {
    name: 'kubectl/labelled',
    says: 'Another manager puts labels and annotations on every object; they are kept when all workloads change.',
    run: async (world): Promise<Violation[]> => {
      const { id } = await runningDeployment(world, ALL_KINDS);
      await markForeign(world, id);
      await change(world, id, {
        ...imageChange('2.0.0'),
        source_config: { resource_spec: { ...ALL_KINDS, max_scale: 5 } },
      });
      await world.ready(id);
      return [];
    },
  },
  {
    name: 'kubectl/scaled/under-autoscaler',
    says: 'A user scales a workload with an autoscaler, within its limits: the number is left alone.',
    run: async (world): Promise<Violation[]> => {
      const shop = await runningDeployment(world, ALL_KINDS);
      await world.kubectl('scale', 'deployment', `${shop.app}-api`, '--replicas=3');
      const stayed = await stays(ALONE_S, '3 replicas', async () => (await replicas(world, shop)) === 3);
      await world.ready(shop.id);
      return stayed;
    },
  },
  {
    name: 'kubectl/scaled/without-autoscaler',
    says: `A user scales a workload without an autoscaler: the number is reverted within ${WITHIN_S} s.`,
    run: async (world): Promise<Violation[]> => {
      const shop = await runningDeployment(world, { min_scale: 2, max_scale: 2 });
      await world.kubectl('scale', 'deployment', `${shop.app}-api`, '--replicas=4');
      const late = await within(WITHIN_S, '2 replicas', async () => (await replicas(world, shop)) === 2);
      await world.ready(shop.id);
      return late;
    },
  },
];

const SENTINEL_S = 30;

/** Suffixes of the names: the generated password, its copy, the environment of the first revision. */
const SECRETS = ['db', 'db-copy', 'env-1'] as const;

async function runningWithSecrets(world: FaultWorld): Promise<RunningDeployment> {
  const body = smallDeployment('shop', { secrets: [{ name: 'TOKEN', value: 'first' }] });
  const { id } = await world.create(body);
  await world.ready(id);
  await world.quiet({ forMs: SETTLED_MS });
  return { id, app: appName('shop', id) };
}

/** Whether the secret sentinel lists all Secrets. From then on, the operator notices their deletion. */
const hasSentinel = async (world: FaultWorld, { app }: RunningDeployment): Promise<boolean> => {
  const { items } = await world.admin.listAll<UntypedObject>(RESOURCES.ControllerRevision, {
    namespace: world.namespace,
    labelSelector: `${LABELS.instance}=${app},${SENTINEL_LABEL}`,
  });
  return items.length === 1 && items[0]?.metadata.ownerReferences?.length === SECRETS.length;
};

async function podsOf(world: FaultWorld, { app }: RunningDeployment): Promise<string> {
  const labelSelector = `${LABELS.instance}=${app}`;
  const { items } = await world.admin.listAll(RESOURCES.Pod, { namespace: world.namespace, labelSelector });
  return items
    .map(({ metadata }) => metadata.uid)
    .sort()
    .join();
}

function deletedSecretPlan(suffix: string): FaultPlan {
  return {
    name: `kubectl/deleted/secrets-${suffix}`,
    says: `A user deletes a Secret (*-${suffix}): it is recreated within ${WITHIN_S} s with the same content, and no pod is replaced.`,
    run: async (world): Promise<Violation[]> => {
      const shop = await runningWithSecrets(world);
      const name = `${shop.app}-${suffix}`;
      const unprotected = await within(SENTINEL_S, 'a sentinel for all Secrets', () =>
        hasSentinel(world, shop),
      );
      if (unprotected.length > 0) return unprotected;
      const before = await live(world, RESOURCES.Secret, name);
      const pods = await podsOf(world, shop);
      await world.kubectl('delete', 'secrets', name, '--wait=false');
      const late = await within(WITHIN_S, `another Secret ${name}`, async () => {
        const { metadata } = await live(world, RESOURCES.Secret, name);
        return metadata.uid !== before.metadata.uid;
      });
      if (late.length > 0) return late;
      await world.ready(shop.id);
      const now = await live(world, RESOURCES.Secret, name);
      const isSame = JSON.stringify(now['data']) === JSON.stringify(before['data']);
      return [
        ...(isSame ? [] : [broken('the content has changed')]),
        ...((await podsOf(world, shop)) === pods ? [] : [broken('pods were replaced')]),
      ];
    },
  };
}

export const kubectlPlans: readonly FaultPlan[] = [
  ...EDITS.map(editPlan),
  ...CHILDREN.map(deletedPlan),
  ...SECRETS.map(deletedSecretPlan),
  ...others,
];

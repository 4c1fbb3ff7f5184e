/**
 * The rights that the chart gives, held against what the accounts were seen to do: by the API server's audit log, over the
 * life of one deployment that has everything and goes wrong in some ways, and of two resources by hand. That nothing is
 * asked for beyond them, installation.long.test.ts looks at for each profile. What is elsewhere: rights-builds.test.ts.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { describeRight } from '../../../src/cluster/kube/client/rights.ts';
import { objectRights } from '../../../src/cluster/listener/objects/object-kinds.ts';
import { listenerLeaseRights as readsLease, workRights } from '../../../src/cluster/listener/rights.ts';
import { CHILD_KINDS, type ChildKindName } from '../../../src/cluster/operator/kinds.ts';
import { leaseRights, markerKeyRights, neededRights } from '../../../src/cluster/operator/rights.ts';
import { cronJobName, MARKER_KEY_SECRET } from '../../../src/contract/resource/names.ts';
import { waitFor } from '../../cluster/wait.ts';
import { type KubeItem, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { kubectlAsAdmin } from '../harness/environment.ts';
import { type Account, type Grant, RightsInUse, watchesOf } from '../harness/rights-in-use.ts';

/**
 * A right of which no request is ever seen, and why it is needed all the same: admission asks whether the account has it.
 * Nor is it missed here: with that plugin on, whoever changes owners has to be allowed to delete, too, and the operator may
 * delete neither Secrets nor volumes. Where the right is given no longer, or what it is for is not where it is said to be,
 * this fails as it does for a right without a use.
 */
const UNSEEN = {
  right: 'update manageddeployments.berth.dev/finalizers',
  why: 'OwnerReferencesPermissionEnforcement: the owner references block the deletion of the owner',
  file: '../../../src/workloads/owner.ts',
  says: /blockOwnerDeletion: true/,
};
/** The admission policy berth-task-origins asks whether an account has it (tasks.test.ts of the operator). */
const ORIGIN = 'create deploymenttasks.berth.dev/origin';
/** Those on the Gateway API, which is in this cluster at times: routing.test.ts. */
const isOfGateway = (right: string) => right.endsWith('httproutes.gateway.networking.k8s.io');

let berth: WholeBerth;
let use: RightsInUse;
beforeAll(async () => {
  use = new RightsInUse();
  berth = await startWholeBerth('rights', {
    settings: {
      BERTH_ROUTING: 'ingress',
      BERTH_NETWORK_ISOLATION: 'true',
      BERTH_TLS_ISSUER: 'letsencrypt',
      // No DNS server is there: the certificates of additional hosts are read all the same.
      BERTH_DNS_SERVERS: '127.0.0.1:9',
    },
  });
});
afterAll(() => berth.stop());

const body = (config: object, image: string, secrets: object[] = []) => ({
  source_config: config,
  source_revision_config: { image_uri: `registry.example/shop/web:${image}` },
  secrets: [{ name: 'A', value: 'b' }, ...secrets],
});

const seenTo = (account: Account, ...rights: string[]) =>
  use.until({ account, namespace: berth.namespace }, rights);

const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', berth.namespace, ...args]);

/** Somebody edits each object: it is put back. */
async function edited(
  id: string,
  kinds = 'deployments,statefulsets,services,serviceaccounts,hpa,pdb,networkpolicies,ingresses',
): Promise<void> {
  const ours = ['-l', `berth.dev/deployment-id=${id}`];
  await kubectl('label', '--overwrite', kinds, ...ours, 'app.kubernetes.io/part-of=edited');
  await waitFor(
    'every object to be put back',
    async () => (await berth.get(kinds, '-l', 'app.kubernetes.io/part-of=edited')).items.length === 0,
    { timeoutMs: 60_000 },
  );
}

/** A revision that fails is looked at on the server itself; what waits without a word has its Events read. */
async function failing(id: string): Promise<void> {
  await berth.call('PATCH', `/v2/deployments/${id}`, body({}, 'fail-crash-loop'));
  await seenTo('berth-operator', 'get deployments.apps');
  await berth.call('PATCH', `/v2/deployments/${id}`, body({}, 'fail-never-ready'));
  await seenTo('berth-operator', 'list events');
  await berth.call('PATCH', `/v2/deployments/${id}`, body({}, '1'));
  await berth.ready(id);
}

/** Whether there is any is the node's matter, and there is none. */
async function logs(id: string): Promise<void> {
  await berth.call('GET', `/v2/deployments/${id}/logs`);
  await seenTo('berth-listener', 'list pods', 'get pods/log');
}

/** The map lists every kind, and usage. One object has its events listed, too. */
async function objects(id: string): Promise<void> {
  const { body } = await berth.call<{ resources: { kind: string; name: string }[] }>(
    'GET',
    `/v2/deployments/${id}/objects`,
  );
  const service = body.resources.find(({ kind }) => kind === 'Service');
  await berth.call('GET', `/v2/deployments/${id}/objects/Service/${service?.name}`);
  await seenTo('berth-listener', ...objectRights().map(describeRight));
}

const byHand = (name: string, volumePolicy: string) => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ManagedDeployment',
  metadata: { name },
  spec: {
    revision: { image: 'registry.example/shop/web:1' },
    components: { api: { scale: { min: 2, max: 3 } } },
    database: { volumePolicy },
    routing: {
      url: `https://${name}-${berth.namespace}.example.com`,
      ...(name === 'by-hand' ? { domains: [`${name}-${berth.namespace}.example.org`] } : {}),
    },
  },
});

const apply = (object: object) =>
  kubectlAsAdmin(['-n', berth.namespace, 'apply', '--server-side', '-f', '-'], JSON.stringify(object));

/** Whose the data is changes on a resource by hand alone. */
async function handedOver(): Promise<void> {
  await apply(byHand('by-hand', 'Retain'));
  await kubectl('wait', '--for=condition=Ready', 'mdep/by-hand', '--timeout=90s');
  await apply(byHand('by-hand', 'Delete'));
  await seenTo(
    'berth-operator',
    'patch secrets',
    'patch controllerrevisions.apps',
    'get certificates.cert-manager.io',
  );
}

/** Kinds of which an object of somebody else can bar the way: their names are known before. */
const BARRED = [
  'Deployment',
  'StatefulSet',
  'Service',
  'ServiceAccount',
  'HorizontalPodAutoscaler',
  'PodDisruptionBudget',
  'NetworkPolicy',
  'Ingress',
  'PersistentVolumeClaim',
  'ControllerRevision',
] as const;
const plurals = (kind: (typeof BARRED)[number]) => RESOURCES[kind].plural;

type Found = KubeItem & { apiVersion: string; data?: object; revision?: number };

/** Somebody else's, as the one of `by-hand`. */
function obstacle({ apiVersion, kind, metadata, spec, data, revision }: Found): object {
  const { clusterIP: _, clusterIPs: __, volumeName: ___, ...rest } = (spec ?? {}) as Record<string, unknown>;
  const still = kind === 'Deployment' || kind === 'StatefulSet' ? { ...rest, replicas: 0 } : rest;
  const renamed = JSON.stringify({ name: metadata.name, spec: still }).replaceAll('by-hand', 'barred');
  const { name, spec: own } = JSON.parse(renamed) as { name: string; spec: object };
  const object = { apiVersion, kind, metadata: { name, labels: { obstacle: 'yes' } } };
  if (kind === 'ControllerRevision') return { ...object, data, revision };
  return kind === 'ServiceAccount' ? object : { ...object, spec: own };
}

/** Whose an object is that bars the way of a new one, is looked at; each that was is taken away. */
async function barred(): Promise<void> {
  const kinds = BARRED.map(plurals).join(',');
  const { items } = await berth.get<{ items: Found[] }>(kinds, '-l', 'app.kubernetes.io/instance=by-hand');
  const obstacles = items.map(obstacle);
  await kubectlAsAdmin(
    ['-n', berth.namespace, 'create', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: obstacles }),
  );
  await apply(byHand('barred', 'Delete'));
  const left = new Set(BARRED);
  await waitFor(
    'each kind to be read',
    async () => {
      const { used } = use.seen({ account: 'berth-operator', namespace: berth.namespace });
      for (const kind of left) {
        const { group, plural: resource } = RESOURCES[kind];
        // Looked at before, for another reason: see `failing`.
        if (!used.has(describeRight({ group, resource, verb: 'get' }))) continue;
        left.delete(kind);
        await kubectl('delete', resource, '-l', 'obstacle=yes', '--ignore-not-found');
      }
      return left.size === 0;
    },
    { timeoutMs: 120_000, intervalMs: 500 },
  );
  await kubectl('wait', '--for=condition=Ready', 'mdep/barred', '--timeout=90s');
  await kubectl('delete', 'mdep', 'barred', 'by-hand');
}

async function everything(): Promise<void> {
  const host = `https://${berth.namespace}.example.com`;
  const large = { min_scale: 2, max_scale: 3, queue_min_scale: 1, queue_max_scale: 1, db_storage_gi: 1 };
  // The first reference to a Secret makes the operator create its key, unless an earlier test did.
  const own = berth.settings['BERTH_NAMESPACE'] ?? '';
  await kubectlAsAdmin(['-n', own, 'delete', 'secret', MARKER_KEY_SECRET, '--ignore-not-found']);
  await kubectl('create', 'secret', 'generic', 'payments', '--from-literal=api-key=x');
  const { id } = await berth.create({
    name: 'everything',
    source: 'external_image',
    ...body({ custom_url: host, resource_spec: large }, '1'),
    secret_references: [{ name: 'STRIPE_KEY', secret_name: 'payments', secret_key: 'api-key' }],
  });
  await berth.ready(id);
  await edited(id);
  // The same news of the same object once more.
  await edited(id, 'services');
  await seenTo('berth-operator', 'create events', 'patch events');
  await failing(id);
  await logs(id);
  await objects(id);
  await berth.call('PATCH', `/v2/deployments/${id}`, {
    source_config: { resource_spec: { ...large, db_storage_gi: 2 } },
  });
  await berth.ready(id);
  // All that can go, goes.
  const external = [
    { name: 'DATABASE_URI_CUSTOM', value: 'postgres://u:p@db.example.com/x' },
    { name: 'CACHE_URI_CUSTOM', value: 'redis://cache.example.com' },
  ];
  const small = {
    min_scale: 1,
    max_scale: 1,
    queue_min_scale: null,
    queue_max_scale: 0,
    service_account_name: 'default',
  };
  const { status } = await berth.call('PATCH', `/v2/deployments/${id}`, {
    ...body({ custom_url: null, resource_spec: small }, '2', external),
  });
  expect(status).toBe(200);
  await berth.ready(id);
  await berth.call('DELETE', `/v2/deployments/${id}`);
  await waitFor(
    'the record to be gone',
    async () => ((await berth.call('GET', `/v2/deployments/${id}`)).status === 404 ? true : undefined),
    { timeoutMs: 60_000 },
  );
}

test('creates, corrects, rolls back and deletes a deployment with every kind of object', everything, 240_000);
test('takes over the data of a resource applied by hand', handedOver, 180_000);
test('reports a conflict with objects that Berth did not create', barred, 240_000);

/** A task of somebody whose Job has a name that is taken, one that runs, and one that is cancelled. */
async function tasks(): Promise<void> {
  await apply(byHand('with-tasks', 'Delete'));
  await kubectl('wait', '--for=condition=Ready', 'mdep/with-tasks', '--timeout=90s');
  const task = (name: string, ...command: string[]) =>
    apply({
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'DeploymentTask',
      metadata: { name },
      spec: { deployment: 'with-tasks', command },
    });
  await apply({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'taken' },
    spec: {
      suspend: true,
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } },
    },
  });
  await task('taken', 'migrate');
  await task('cancelled', 'sleep');
  const cancelled = ['mtask/cancelled', '--timeout=60s'];
  await kubectl('wait', '--for=jsonpath={.status.state}=RUNNING', ...cancelled);
  await kubectl('annotate', 'mtask', 'cancelled', 'berth.dev/cancel=true');
  await kubectl('wait', '--for=jsonpath={.status.state}=CANCELLED', ...cancelled);
  await seenTo('berth-operator', 'get jobs.batch', 'delete jobs.batch');
  // A task that ended long ago is removed.
  const old = { status: { state: 'SUCCEEDED', completionTime: '2020-01-01T00:00:00Z' } };
  await kubectl('patch', 'mtask', 'taken', '--subresource=status', '--type=merge', '-p', JSON.stringify(old));
  await seenTo('berth-operator', 'delete deploymenttasks.berth.dev');
  await kubectl('delete', 'mdep', 'with-tasks');
  const { id } = await berth.create({ name: 'with-tasks', source: 'external_image', ...body({}, '1') });
  await berth.ready(id);
  const { body: asked } = await berth.call<{ id: string; name: string }>(
    'POST',
    `/v2/deployments/${id}/tasks`,
    {
      command: ['sleep'],
    },
  );
  const running = `mtask/${asked.name}`;
  await seenTo('berth-listener', 'get deploymenttasks.berth.dev', 'create deploymenttasks.berth.dev');
  await kubectl('wait', '--for=jsonpath={.status.state}=RUNNING', running, '--timeout=60s');
  await berth.call('POST', `/v2/deployments/${id}/tasks/${asked.id}/cancel`);
  await seenTo('berth-listener', 'patch deploymenttasks.berth.dev');
}

test('runs, cancels and removes tasks', tasks, 180_000);

/** A schedule that runs, is removed, and whose last Job then goes. */
async function schedules(): Promise<void> {
  const object = byHand('with-schedules', 'Delete');
  const withSchedules = (list: object[]) => apply({ ...object, spec: { ...object.spec, schedules: list } });
  await withSchedules([{ name: 'a', schedule: '0 0 1 1 *', command: ['migrate'] }]);
  const name = cronJobName('with-schedules', 'a');
  await seenTo('berth-operator', 'create cronjobs.batch');
  await kubectl('wait', '--for=create', `cronjob/${name}`, '--timeout=60s');
  await kubectl('create', 'job', 'run-of-a', `--from=cronjob/${name}`);
  await seenTo('berth-operator', 'create deploymenttasks.berth.dev');
  await withSchedules([]);
  await seenTo('berth-operator', 'patch cronjobs.batch');
  await kubectl('delete', 'job', 'run-of-a');
  await seenTo('berth-operator', 'delete cronjobs.batch');
}

test('runs and removes schedules', schedules, 180_000);

/** A release command that runs, and whose task is then deleted. */
async function lostRelease(): Promise<void> {
  const { spec, ...manifest } = byHand('released', 'Delete');
  await apply({ ...manifest, spec: { ...spec, podTemplate: { releaseCommand: ['sleep'] } } });
  const task = 'mtask/released-1-release';
  await kubectl('wait', '--for=create', task, '--timeout=60s');
  await kubectl('wait', '--for=jsonpath={.status.state}=RUNNING', task, '--timeout=90s');
  await kubectl('delete', task);
  await seenTo('berth-operator', 'get deploymenttasks.berth.dev');
}

test('runs a release command, and reads its task when it is missing', lostRelease, 180_000);

test('uses every granted right except three documented exceptions, and requests no other', async () => {
  // Watches are told of when they end.
  await berth.process().stop();
  const { namespace } = berth;
  const kinds = Object.keys(CHILD_KINDS) as ChildKindName[];
  const own = berth.settings['BERTH_NAMESPACE'] ?? '';
  const grants: Grant[] = [
    { account: 'berth-operator', namespace, rights: neededRights(kinds) },
    { account: 'berth-listener', namespace, rights: workRights() },
    { account: 'berth-operator', namespace: own, rights: [...leaseRights(), ...markerKeyRights()] },
    { account: 'berth-listener', namespace: own, rights: readsLease() },
  ];
  // By the uid of that one the hub knows which cluster it is; the account may read any, outside of cloud for this alone.
  await use.until({ account: 'berth-listener', namespace: 'kube-system' }, ['get namespaces']);
  for (const { rights, ...place } of grants)
    await use.until(
      place,
      watchesOf(rights).filter((right) => !isOfGateway(right)),
    );
  const unused = grants.flatMap((grant) => {
    const compared = use.compare(grant);
    expect(compared, `${grant.account} in ${grant.namespace}`).toMatchObject({ beyond: [], refused: [] });
    return compared.unused;
  });
  expect(unused.filter((right) => !isOfGateway(right))).toEqual([UNSEEN.right, ORIGIN, ORIGIN]);
});

test(`the code that needs ${UNSEEN.right} is in the documented file`, () => {
  expect(readFileSync(new URL(UNSEEN.file, import.meta.url), 'utf8')).toMatch(UNSEEN.says);
});

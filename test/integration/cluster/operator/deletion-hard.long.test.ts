/** The hard ways to delete a deployment: each ends with nothing of it left, and nothing foreign touched. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../../cluster/wait.ts';
import {
  type DeploymentAnswer,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../../harness/berth.ts';
import { createNamespace, deleteNamespace, environment, kubectlAsAdmin } from '../../harness/environment.ts';
import { objectsOf } from '../../harness/remote-cluster.ts';

const EVERYTHING =
  'mdep,deployments,replicasets,statefulsets,services,serviceaccounts,secrets,pvc,controllerrevisions.apps,networkpolicies,hpa,pdb,ingresses,pods';
const WAIT = { timeoutMs: 120_000, intervalMs: 300 };

let berth: WholeBerth;
let database: pg.Client;
/** Namespaces that tests take away. */
let leaving: string;
let stuck: string;
beforeAll(async () => {
  [leaving, stuck] = await Promise.all([createNamespace('leaving'), createNamespace('stuck')]);
  berth = await startWholeBerth('deletion', { moreNamespaces: [leaving, stuck] });
  database = new pg.Client({ connectionString: berth.databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await berth?.stop();
  await Promise.all([leaving, stuck].map(deleteNamespace));
});

const appOf = ({ id, name }: DeploymentAnswer) => `${name}-${id.replaceAll('-', '').slice(-8)}`;
const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', berth.namespace, ...args]);
const within = (name: string, namespace: string) =>
  smallDeployment(name, { source_config: { listener_config: { cluster_namespace: namespace } } });

async function askForDeletion(id: string, query = ''): Promise<void> {
  expect((await berth.call('DELETE', `/v2/deployments/${id}${query}`)).status).toBe(204);
}

/** Waits for the end, and looks that it is one. */
async function ended({ id }: { id: string }): Promise<void> {
  await waitFor(
    `${id} to be gone`,
    async () => (await berth.call('GET', `/v2/deployments/${id}`)).status === 404,
    WAIT,
  );
  const left = await objectsOf(environment(), EVERYTHING, id);
  expect(left.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
  const { rows } = await database.query('SELECT due FROM tombstones WHERE id = $1', [id]);
  expect(rows).toEqual([{ due: false }]);
}

/** Keeps the volume of an app from going, so that its purge takes as long as we like. */
const holdVolume = (app: string) => finalizers(app, ['test.example/hold', 'kubernetes.io/pvc-protection']);
const releaseVolume = (app: string) => finalizers(app, []);
const finalizers = (app: string, wanted: string[]) =>
  kubectl(
    'patch',
    'pvc',
    `${app}-db`,
    '--type=merge',
    '-p',
    JSON.stringify({ metadata: { finalizers: wanted } }),
  );
const volumeLeaves = (app: string) =>
  waitFor(
    'the volume to be on its way out',
    async () =>
      (await kubectl('get', 'pvc', `${app}-db`, '-o', 'jsonpath={.metadata.deletionTimestamp}')) !== '',
    WAIT,
  );

describe('a deletion', () => {
  test.concurrent('completes before any object is created', async () => {
    const created = await berth.create(smallDeployment('at-once'));
    await askForDeletion(created.id);
    await ended(created);
  });

  test.concurrent.each(['secret', 'statefulset', 'deployment'])(
    'completes when it starts as soon as the first %s exists',
    async (kind) => {
      const created = await berth.create(
        smallDeployment(`between-${kind}`, { secrets: [{ name: 'A', value: '1' }] }),
      );
      await waitFor(`a ${kind}`, async () => (await objectsOf(environment(), kind, created.id)).length > 0, {
        timeoutMs: 60_000,
        intervalMs: 20,
      });
      await askForDeletion(created.id);
      await ended(created);
    },
  );

  test.concurrent('deletes certificates, and leaves objects with similar names', async () => {
    const created = await berth.create(smallDeployment('alike', { secrets: [{ name: 'A', value: '1' }] }));
    const app = appOf(created);
    await berth.ready(created.id);
    await kubectl('create', 'secret', 'generic', `${app}-tls`);
    await kubectl('annotate', 'secret', `${app}-tls`, `cert-manager.io/certificate-name=${app}-tls`);
    // Names as ours, and the id without Berth's mark.
    await kubectl('create', 'secret', 'generic', `${app}-env-9`);
    await kubectl('create', 'configmap', `${app}-db`);
    await kubectl(
      'label',
      'configmap',
      `${app}-db`,
      'app.kubernetes.io/managed-by=berth',
      `app.kubernetes.io/instance=${app}`,
    );
    const foreign = async () =>
      await kubectl(
        'get',
        `secret/${app}-env-9`,
        `configmap/${app}-db`,
        '-o',
        'jsonpath={.items[*].metadata.uid}',
      );
    const uids = await foreign();
    await askForDeletion(created.id);
    await ended(created);
    expect(await foreign()).toBe(uids);
    const secrets = await kubectl('get', 'secrets', '-o', 'name');
    expect(secrets.split('\n').filter((name) => name.includes(app))).toEqual([`secret/${app}-env-9`]);
    const projects = async () =>
      (await database.query('SELECT name FROM tracing_projects WHERE name = $1', [created.name])).rows.length;
    expect(await projects()).toBe(1);
    const again = await berth.create(smallDeployment('alike'));
    await askForDeletion(again.id, '?delete_tracing_project=true');
    await ended(again);
    expect(await projects()).toBe(0);
  });

  test.concurrent('lets a new deployment of the same name become READY while the old one is still being deleted', async () => {
    const old = await berth.create(smallDeployment('again'));
    await berth.ready(old.id);
    await holdVolume(appOf(old));
    await askForDeletion(old.id);
    await volumeLeaves(appOf(old));
    const young = await berth.create(smallDeployment('again'));
    await berth.ready(young.id);
    expect((await berth.call('GET', `/v2/deployments/${old.id}`)).body.status).toBe('AWAITING_DELETE');
    const before = await objectsOf(environment(), 'pvc,secrets,services,pods', young.id);
    await releaseVolume(appOf(old));
    await ended(old);
    const after = await objectsOf(environment(), 'pvc,secrets,services,pods', young.id);
    const uids = (items: typeof before) => items.map(({ metadata }) => metadata.uid).sort();
    expect(uids(after)).toEqual(uids(before));
    expect((await berth.ready(young.id)).status).toBe('READY');
  });

  test.concurrent('completes if the namespace is already gone', async () => {
    const created = await berth.create(within('homeless', leaving));
    await berth.ready(created.id);
    await kubectlAsAdmin(['delete', 'namespace', leaving, '--timeout=90s']);
    await askForDeletion(created.id);
    await ended(created);
  });

  test.concurrent('completes in a namespace that stays terminating', async () => {
    const created = await berth.create(within('terminating', stuck));
    await berth.ready(created.id);
    const holder = `holder-${randomBytes(4).toString('hex')}`;
    const hold = (value: string) =>
      kubectlAsAdmin([
        '-n',
        stuck,
        'patch',
        'configmap',
        holder,
        '--type=merge',
        '-p',
        `{"metadata":{"finalizers":${value}}}`,
      ]);
    await kubectlAsAdmin(['-n', stuck, 'create', 'configmap', holder]);
    await hold('["test.example/hold"]');
    await deleteNamespace(stuck);
    await askForDeletion(created.id);
    await ended(created);
    await hold('null');
  });
});

describe('a listener', () => {
  test('completes the purge of a listener that was killed', async () => {
    const created = await berth.create(smallDeployment('killed'));
    await berth.ready(created.id);
    await holdVolume(appOf(created));
    await askForDeletion(created.id);
    await volumeLeaves(appOf(created));
    await berth.process().stop('SIGKILL');
    await berth.restart();
    expect((await berth.call('GET', `/v2/deployments/${created.id}`)).body.status).toBe('AWAITING_DELETE');
    await releaseVolume(appOf(created));
    await ended(created);
  });
});

describe('a resource applied by hand', () => {
  test('deletes all of its data if it requests that, including data from before the request', async () => {
    const apply = (volumePolicy: string) => {
      const metadata = { name: 'by-hand', namespace: berth.namespace };
      const spec = { revision: { image: 'registry.example/hello:1' }, database: { volumePolicy } };
      const object = { apiVersion: 'berth.dev/v1alpha1', kind: 'ManagedDeployment', metadata, spec };
      return kubectlAsAdmin(['apply', '--server-side', '-f', '-'], JSON.stringify(object));
    };
    await apply('Retain');
    await kubectl('wait', '--for=condition=Ready', 'mdep/by-hand', '--timeout=90s');
    const left = async () => {
      const kinds = 'secrets,pvc,controllerrevisions.apps';
      const names = await kubectl('get', kinds, '-l', 'app.kubernetes.io/instance=by-hand', '-o', 'name');
      return names.split('\n').filter(Boolean);
    };
    expect((await left()).length).toBeGreaterThanOrEqual(5);
    await apply('Delete');
    await waitFor(
      'the volume to be owned',
      async () =>
        (await kubectl('get', 'pvc', 'by-hand-db', '-o', 'jsonpath={.metadata.ownerReferences[*].kind}')) !==
        '',
      WAIT,
    );
    await kubectl('delete', 'mdep', 'by-hand');
    await waitFor('nothing left', async () => (await left()).length === 0, WAIT);
  });
});

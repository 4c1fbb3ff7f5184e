/**
 * Who may use an identity, with an account that may create, update and patch custom resources in one namespace and nothing
 * else: it gets no pods behind another deployment's selectors, and nothing that another deployment has left.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../../cluster/wait.ts';
import { runBerth } from '../../../installation/berth-process.ts';
import {
  type DeploymentAnswer,
  type KubeItem,
  type KubeList,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../../harness/berth.ts';
import { kubectlAsAdmin } from '../../harness/environment.ts';

const WAIT = { timeoutMs: 120_000, intervalMs: 300 };
/** Of several waits one after the other. */
const LONG_MS = 400_000;

let berth: WholeBerth;
beforeAll(async () => {
  berth = await startWholeBerth('identity');
  const { namespace } = berth;
  await kubectl('create', 'serviceaccount', 'writer');
  const verbs = '--verb=create,update,patch';
  await kubectl('create', 'role', 'writer', verbs, '--resource=manageddeployments.berth.dev');
  await kubectl('create', 'rolebinding', 'writer', '--role=writer', `--serviceaccount=${namespace}:writer`);
});
afterAll(() => berth?.stop());

const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', berth.namespace, ...args]);
const appOf = ({ id, name }: DeploymentAnswer) => `${name}-${id.replaceAll('-', '').slice(-8)}`;

/** As Writer, by the rights that it has. */
function writer(args: readonly string[], input?: string): Promise<string> {
  const as = `--as=system:serviceaccount:${berth.namespace}:writer`;
  return kubectlAsAdmin(['-n', berth.namespace, as, ...args], input);
}

const manifest = (name: string, spec: object) =>
  JSON.stringify({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name, namespace: berth.namespace },
    spec,
  });
const image = (tag: string) => ({ image: `registry.example/hello:${tag}` });
const write = (name: string, spec: object) => writer(['create', '-f', '-'], manifest(name, spec));

interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
}
async function ready(name: string): Promise<Condition | undefined> {
  const { items } = await berth.get<KubeList>('mdep');
  const found = items.find(({ metadata }) => metadata.name === name);
  const { conditions = [] } = (found?.status ?? {}) as { conditions?: Condition[] };
  return conditions.find(({ type }) => type === 'Ready');
}
const isConverged = (name: string) =>
  waitFor(`${name} to be ready`, async () => (await ready(name))?.status === 'True', WAIT);
const isRefused = (name: string) =>
  waitFor(`${name} to be refused`, async () => (await ready(name))?.reason === 'Conflict', WAIT);

/** What a deployment owns and has left, without what changes by itself. */
async function objectsOf(app: string): Promise<string[]> {
  const kinds = 'deploy,sts,svc,netpol,sa,pvc,secrets,controllerrevisions.apps';
  const { items } = await berth.get<KubeList>(kinds, '-l', `app.kubernetes.io/instance=${app}`);
  return items
    .map(({ kind, metadata: { name, uid, ownerReferences = [] } }: KubeItem) =>
      [kind, name, uid, ...ownerReferences.map((owner) => owner.uid)].join(' '),
    )
    .sort();
}
/** Names of the pods that a selector of this label value matches. */
async function podsOf(id: string): Promise<string[]> {
  const { items } = await berth.get<KubeList>('pods', '-l', `berth.dev/deployment-id=${id}`);
  return items.map(({ metadata }) => metadata.name);
}

test('creates nothing for a resource that names the uid of a resource applied by hand', async () => {
  await kubectlAsAdmin(['apply', '-f', '-'], manifest('victim', { revision: image('1') }));
  await isConverged('victim');
  const { items } = await berth.get<KubeList>('mdep');
  const uid = items.find(({ metadata }) => metadata.name === 'victim')?.metadata.uid ?? '';
  const before = await objectsOf('victim');
  await write('intruder', {
    deploymentId: uid,
    revision: image('evil'),
    database: { volumePolicy: 'Delete' },
  });
  await isRefused('intruder');
  expect((await ready('intruder'))?.message).toContain('is the uid of the ManagedDeployment victim');
  // And one that has an id of its own cannot change to it.
  await write('honest', { deploymentId: 'of-its-own', revision: image('1'), suspend: true });
  const change = (name: string) =>
    writer(
      ['apply', '--server-side', '--force-conflicts', '-f', '-'],
      manifest(name, { deploymentId: uid, revision: image('1'), suspend: true }),
    );
  await expect(change('honest')).rejects.toThrow('deploymentId cannot be changed');
  await write('late', { revision: image('1'), suspend: true });
  await expect(change('late')).rejects.toThrow('deploymentId cannot be changed');
  expect((await podsOf(uid)).filter((name) => !name.startsWith('victim-'))).toEqual([]);
  expect(await objectsOf('intruder')).toEqual([]);
  expect(await objectsOf('victim')).toEqual(before);
  // Credentials of a database are another deployment's, whatever their name looks like.
  await write('reader', { revision: { ...image('evil'), envSecretName: 'victim-db' } });
  await waitFor('the reader to be refused', async () => (await ready('reader'))?.reason === 'Refused', WAIT);
  expect((await ready('reader'))?.message).toContain('spec.revision.envSecretName');
  expect(
    await berth.get<KubeList>(
      'deploy',
      '-l',
      'app.kubernetes.io/instance=reader,app.kubernetes.io/component=api',
    ),
  ).toMatchObject({ items: [] });
});

describe('the id of a deployment of the hub', () => {
  test('is used again by its own resource after a deletion, although a copy waits for it', async () => {
    const created = await berth.create(smallDeployment('shop'));
    await berth.ready(created.id);
    const app = appOf(created);
    const copy = `aaa-${app.slice(-8)}`;
    const volume = await kubectl('get', 'pvc', `${app}-db`, '-o', 'jsonpath={.metadata.uid}');
    await write(copy, { deploymentId: created.id, revision: image('evil') });
    await isRefused(copy);
    expect((await ready(copy))?.message).toContain(`the ManagedDeployment ${app} has the same`);
    await kubectl('delete', 'mdep', app);
    await isConverged(app);
    expect((await ready(copy))?.reason).toBe('Conflict');
    expect(await objectsOf(copy)).toEqual([]);
    expect(await kubectl('get', 'pvc', `${app}-db`, '-o', 'jsonpath={.metadata.uid}')).toBe(volume);
    expect((await podsOf(created.id)).filter((name) => name.startsWith('aaa-'))).toEqual([]);
  });

  test('is taken back from a running copy, which explain names meanwhile', async () => {
    const created = await berth.create(smallDeployment('lost'));
    await berth.ready(created.id);
    const app = appOf(created);
    const copy = `aaa-${app.slice(-8)}`;
    await berth.process().stop();
    const selector = `berth.dev/deployment-id=${created.id}`;
    await kubectl('delete', 'mdep', app, '--cascade=foreground');
    await kubectl('delete', 'pvc,secrets,controllerrevisions.apps', '-l', selector, '--wait=false');
    await write(copy, { deploymentId: created.id, revision: image('evil') });
    const operator = await berth.startRole('operator', 'alone');
    await isConverged(copy);
    await operator.stop();
    await berth.restart();
    const reported = new Set<string>();
    const { body: record } = await berth.call('GET', `/v2/deployments/${created.id}`);
    const explain = `/v2/deployments/${created.id}/revisions/${record.latest_revision_id}/explain`;
    await waitFor(
      'the resource of the hub to be ready',
      async () => {
        reported.add(JSON.stringify((await berth.call('GET', explain)).body));
        return (await ready(app))?.status === 'True';
      },
      WAIT,
    );
    expect([...reported].join('\n')).toContain(`ManagedDeployment ${copy}`);
    expect((await ready(copy))?.reason).toBe('Conflict');
    expect((await podsOf(created.id)).filter((name) => name.startsWith('aaa-'))).toEqual([]);
    expect((await berth.ready(created.id)).status).toBe('READY');
  });
});

test('gives objects left with keep_workloads to no other resource, neither by name nor by id', {
  timeout: LONG_MS,
}, async () => {
  const created = await berth.create(smallDeployment('gone', { secrets: [{ name: 'A', value: 'secret' }] }));
  await berth.ready(created.id);
  const app = appOf(created);
  const options = [
    '--tenant',
    'test',
    '--name',
    'admin',
    '--scopes',
    'deployments:write,admin',
    '-o',
    'json',
  ];
  const made = await runBerth(berth.stateDir, ['keys', 'create', ...options], berth.settings);
  const { api_key: key } = JSON.parse(made) as { api_key: string };
  const url = new URL(`/v2/deployments/${created.id}?keep_workloads=true`, berth.process().url);
  expect((await fetch(url, { method: 'DELETE', headers: { 'x-api-key': key } })).status).toBe(204);
  const isGone = async () => (await berth.call('GET', `/v2/deployments/${created.id}`)).status === 404;
  await waitFor('the record to be gone', isGone, WAIT);
  await waitFor(
    'the owners to be taken off',
    async () => {
      const { items } = await berth.get<KubeList>(
        'deploy,sts,svc',
        '-l',
        `app.kubernetes.io/instance=${app}`,
      );
      return items.every(({ metadata }) => metadata.ownerReferences === undefined);
    },
    WAIT,
  );
  const before = await objectsOf(app);
  expect(before.length).toBeGreaterThan(6);
  const pods = await podsOf(created.id);
  const claims = [
    { revision: image('evil'), database: { volumePolicy: 'Delete' } },
    {
      deploymentId: created.id,
      revision: { ...image('evil'), envSecretName: `${app}-env-1` },
      database: { volumePolicy: 'Delete' },
    },
  ];
  for (const spec of claims) {
    await write(app, spec);
    // By its former id the hub knows it as a leftover, and the listener removes it without what it would own.
    await waitFor(
      'it to be refused, or removed',
      async () => {
        const isRemoved = (await kubectl('get', 'mdep', app, '--ignore-not-found', '-o', 'name')) === '';
        return isRemoved || (await ready(app))?.reason === 'Conflict';
      },
      WAIT,
    );
    expect(await objectsOf(app)).toEqual(before);
    await kubectl('delete', 'mdep', app, '--cascade=orphan', '--ignore-not-found');
  }
  await write('elsewhere', claims[1] ?? {});
  await isRefused('elsewhere');
  expect(await objectsOf('elsewhere')).toEqual([]);
  expect(await objectsOf(app)).toEqual(before);
  expect(await podsOf(created.id)).toEqual(pods);
});

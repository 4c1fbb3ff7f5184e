/**
 * A second cluster with its own control plane. Its `berth listener` and `berth operator` know only the hub's URL, a
 * listener key and their kubeconfigs. The hub uses https with a private certificate authority.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig, SETTINGS } from '../../../../src/config/index.ts';
import { freePorts } from '../../../cluster/ports.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { type BerthProcess, runBerth } from '../../../installation/berth-process.ts';
import { authority } from '../../../unit/cluster/kube/self-signed.ts';
import {
  type Answer,
  type DeploymentAnswer,
  type KubeItem,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../../harness/berth.ts';
import { environment } from '../../harness/environment.ts';
import { Link, startTlsFront, type TlsFront } from '../../harness/link.ts';
import { unpackManifests } from '../../harness/release-manifests.ts';
import { objectsOf, type RemoteCluster, startRemoteCluster } from '../../harness/remote-cluster.ts';

/** A listener without contact for this time is lost. Its lease may be taken after a quarter of it. */
const LEASE_SECONDS = 16;
const EVERY_KIND =
  'mdep,deployments,statefulsets,services,serviceaccounts,secrets,pvc,controllerrevisions.apps,networkpolicies,hpa,pdb,pods';
const root = fileURLToPath(new URL('../../../..', import.meta.url));
const [FIRST, SECOND] = ['team-one', 'team-two'] as const;

let hub: WholeBerth;
let remote: RemoteCluster;
let front: TlsFront;
let link: Link;
let listener: { id: string; key: string };
let process: BerthProcess;
let healthPort: number;

async function makeKey(tenant: string): Promise<string> {
  const args = [
    'keys',
    'create',
    '--tenant',
    tenant,
    '--name',
    'remote',
    '--scopes',
    'listeners:run',
    '-o',
    'json',
  ];
  return (JSON.parse(await runBerth(hub.stateDir, args, hub.settings)) as { api_key: string }).api_key;
}

const listenerSettings = (kubeconfig: string) => ({
  BERTH_HUB_URL: `https://127.0.0.1:${link.port}`,
  BERTH_HUB_CA: join(remote.stateDir, 'hub-ca.pem'),
  BERTH_LISTENER_ID: listener.id,
  BERTH_LISTENER_KEY: listener.key,
  BERTH_METRICS_PORT: String(healthPort),
  KUBECONFIG: kubeconfig,
});

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  [hub, remote] = await Promise.all([
    startWholeBerth('hub', { settings: { BERTH_LEASE_SECONDS: `${LEASE_SECONDS}`, BERTH_PORT: `${port}` } }),
    startRemoteCluster(),
  ]);
  const ca = authority();
  writeFileSync(join(remote.stateDir, 'hub-ca.pem'), ca.cert);
  front = await startTlsFront(ca.issue(['127.0.0.1']), port);
  link = new Link(front.port);
  await link.start();
  await Promise.all([FIRST, SECOND].map((name) => remote.kubectl('create', 'namespace', name)));
  const made = await hub.call<{ id: string }>('POST', '/v2/listeners', {
    compute_id: 'remote',
    compute_config: { k8s_namespaces: [FIRST, SECOND] },
  });
  expect(made.status).toBe(201);
  listener = { id: made.body.id, key: await makeKey('test') };
  const kubeconfigs = await remote.kubeconfigs();
  await remote.start('operator', { KUBECONFIG: kubeconfigs.operator, BERTH_METRICS_PORT: '0' });
  // Chosen late, because a control plane that starts meanwhile takes ports, too.
  [healthPort = 0] = await freePorts(1);
  process = await remote.start('listener', listenerSettings(kubeconfigs.listener));
}, 240_000);
afterAll(async () => {
  await Promise.all([remote?.stop(), hub?.stop()]);
  await link?.stop();
  await front?.stop();
});

const there = (namespace: string, name: string) =>
  smallDeployment(name, {
    source_config: { listener_id: listener.id, listener_config: { cluster_namespace: namespace } },
    secrets: [{ name: 'TOKEN', value: 'x' }],
  });
const inHubCluster = (id: string) => objectsOf(environment(), EVERY_KIND, id);
const readiness = async () => (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status;
const logOf = async () => await readFile(process.logPath, 'utf8');
const asListener = (
  key: string,
  method: string,
  path: string,
  body?: object,
): Promise<Answer<{ detail: string }>> =>
  fetch(`${hub.process().url}/v2/listeners/${listener.id}${path}`, {
    method,
    headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).then(async (answer) => ({ status: answer.status, body: (await answer.json()) as { detail: string } }));
const claim = (holder: string, epoch: number | null, more: object = {}) => ({
  holder,
  epoch,
  version: '0',
  cluster_version: 'v1.36.0',
  rendering: null,
  ...more,
});
const leaseState = async () => {
  const { body } = await asListener(listener.key, 'GET', '/lease');
  return body as unknown as { holder: string; held: boolean; epoch: number };
};
const images = (objects: readonly KubeItem[]) => JSON.stringify(objects.map(({ spec }) => spec));

/** The state UNKNOWN, as every client of the API sees it. */
const unknown = (id: string) =>
  hub.until(
    id,
    'UNKNOWN',
    ({ status, conditions }) =>
      status === 'UNKNOWN' && conditions.some(({ reason }) => reason === 'ListenerLost'),
  );

describe('a deployment', () => {
  it('is placed only in the given namespace of the given listener', async () => {
    const { id } = await hub.create(there(SECOND, 'lands-there'));
    const ready = await hub.ready(id);
    expect(ready.conditions.find(({ type }) => type === 'Ready')?.status).toBe('True');
    const objects = await remote.objectsOf(EVERY_KIND, id);
    expect(new Set(objects.map(({ metadata }) => metadata.namespace))).toEqual(new Set([SECOND]));
    for (const kind of ['ManagedDeployment', 'Deployment', 'StatefulSet', 'Secret', 'Pod']) {
      expect(objects.map((object) => object.kind)).toContain(kind);
    }
    expect(await inHubCluster(id)).toEqual([]);
  });

  it('is placed in the first namespace of its listener when it names no namespace', async () => {
    const { id } = await hub.create(
      smallDeployment('first-of-list', { source_config: { listener_id: listener.id } }),
    );
    await hub.ready(id);
    const [resource] = await remote.objectsOf('mdep', id);
    expect(resource?.metadata.namespace).toBe(FIRST);
  });

  it('is placed in the cluster of the platform’s listener when it names no listener', async () => {
    const { id } = await hub.create(smallDeployment('stays-at-the-hub'));
    await hub.ready(id);
    expect(await remote.objectsOf(EVERY_KIND, id)).toEqual([]);
    expect((await inHubCluster(id)).length).toBeGreaterThan(0);
  });

  it('is rejected with the field when its namespace is not in the list, and nothing is written', async () => {
    const count = async () =>
      (await hub.call<{ resources: unknown[] }>('GET', '/v2/deployments?limit=100')).body.resources.length;
    const before = await count();
    const refused = await hub.call<{ detail: { loc: string[]; msg: string }[] }>(
      'POST',
      '/v2/deployments',
      there('kube-system', 'elsewhere'),
    );
    expect(refused.status).toBe(400);
    expect(refused.body.detail).toMatchObject([
      {
        loc: ['body', 'source_config', 'listener_config', 'cluster_namespace'],
        msg: `must be one of the namespaces of the listener: ${FIRST}, ${SECOND}`,
      },
    ]);
    expect(await count()).toBe(before);
  });

  it('leaves nothing in the cluster after a DELETE', async () => {
    const { id } = await hub.create(there(FIRST, 'short-lived'));
    await hub.ready(id);
    expect((await hub.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
    await waitFor('nothing to be left', async () => (await remote.objectsOf(EVERY_KIND, id)).length === 0, {
      timeoutMs: 90_000,
    });
  });
});

describe('the listener’s API', () => {
  it('returns 404 to other tenants, and leaves the lease unchanged', async () => {
    const before = await leaseState();
    const stranger = await makeKey('stranger');
    const answers = await Promise.all([
      asListener(stranger, 'PUT', '/lease', claim('stranger', null)),
      asListener(stranger, 'GET', '/lease'),
      asListener(stranger, 'GET', `/work?epoch=${before.epoch}`),
      asListener(stranger, 'POST', '/reports', { epoch: before.epoch, seq: 1_000_000, reports: [] }),
      asListener(stranger, 'POST', '/inventory', { epoch: before.epoch, complete: true, items: [] }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    expect(await leaseState()).toMatchObject({ held: true, holder: before.holder, epoch: before.epoch });
  });

  it('is the only API that the listener’s key can call', async () => {
    const answer = await fetch(`${hub.process().url}/v2/deployments`, {
      headers: { 'x-api-key': listener.key },
    });
    expect(answer.status).toBe(403);
  });
});

describe('an interrupted connection', () => {
  it('shows UNKNOWN after the lease, leaves the operator working, and delays changes until it is restored', async () => {
    const { id } = await hub.create(there(SECOND, 'cut-off'));
    const before = await hub.ready(id);
    expect(await readiness()).toBe(200);
    link.cut();
    const lost = await unknown(id);
    expect(lost.active_revision_id).toBe(before.active_revision_id);
    expect(await readiness()).toBe(503);

    const api = async () =>
      (await remote.objectsOf('deployments', id)).find(({ metadata }) => metadata.name.endsWith('-api'));
    const first = await api();
    await remote.kubectl('delete', 'deployment', '-n', SECOND, first?.metadata.name ?? '', '--wait=true');
    await waitFor(
      'the operator to make it again',
      async () => {
        const now = await api();
        return now !== undefined && now.metadata.uid !== first?.metadata.uid;
      },
      { timeoutMs: 30_000 },
    );
    const patched = await hub.call('PATCH', `/v2/deployments/${id}`, {
      source_revision_config: { image_uri: 'registry.example/shop/web:2.0.0' },
    });
    expect([patched.status, patched.body.status]).toEqual([200, 'UNKNOWN']);
    expect(images(await remote.objectsOf('mdep', id))).not.toContain('web:2.0.0');

    link.open();
    const after = await hub.ready(id);
    expect(after.active_revision_id).toBe(patched.body.latest_revision_id);
    expect(images(await remote.objectsOf('pods', id))).toContain('web:2.0.0');
    await waitFor('the listener to be ready again', async () => (await readiness()) === 200, {
      timeoutMs: 30_000,
    });
    expect(await inHubCluster(id)).toEqual([]);
  });

  it('is followed by a report of changes, and a custom resource that was deleted meanwhile is restored', async () => {
    const { id } = await hub.create(there(FIRST, 'lost-meanwhile'));
    await hub.ready(id);
    const [resource] = await remote.objectsOf('mdep', id);
    link.cut();
    await unknown(id);
    await remote.kubectl('delete', 'mdep', '-n', FIRST, resource?.metadata.name ?? '', '--wait=true');
    link.open();
    await waitFor(
      'another custom resource',
      async () => {
        const [now] = await remote.objectsOf('mdep', id);
        return now !== undefined && now.metadata.uid !== resource?.metadata.uid;
      },
      { timeoutMs: 60_000 },
    );
    await hub.ready(id);
  });
});

describe('a stale epoch', () => {
  it('is rejected with 409, and the former process writes nothing until it holds the lease again', async () => {
    const { id } = await hub.create(there(SECOND, 'fenced'));
    await hub.ready(id);
    const old = await leaseState();
    // The connection hangs: the process cannot renew, and its requests arrive late.
    link.hold();
    const intruder = await waitFor(
      'the lease to be free',
      async () => {
        const { status, body } = await asListener(listener.key, 'PUT', '/lease', claim('intruder', null));
        return status === 200 ? (body as unknown as { epoch: number }) : undefined;
      },
      { timeoutMs: 30_000 },
    );
    expect(intruder.epoch).toBe(old.epoch + 1);
    const keeping = setInterval(
      () =>
        void asListener(listener.key, 'PUT', '/lease', claim('intruder', intruder.epoch)).catch(
          () => undefined,
        ),
      1_000,
    );
    try {
      const stale = await Promise.all([
        asListener(listener.key, 'PUT', '/lease', claim(old.holder, old.epoch)),
        asListener(listener.key, 'GET', `/work?epoch=${old.epoch}`),
        asListener(listener.key, 'POST', '/reports', { epoch: old.epoch, seq: 1_000_000, reports: [] }),
        asListener(listener.key, 'POST', '/inventory', { epoch: old.epoch, complete: true, items: [] }),
      ]);
      expect(stale.map(({ status }) => status)).toEqual([409, 409, 409, 409]);

      const patched = await hub.call('PATCH', `/v2/deployments/${id}`, {
        source_revision_config: { image_uri: 'registry.example/shop/web:3.0.0' },
      });
      link.open();
      await waitFor(
        'the process to say that it waits for the lease',
        async () => (await logOf()).includes('intruder holds it'),
        { timeoutMs: 30_000 },
      );
      expect(await logOf()).toContain('lost the lease; this process no longer acts');
      expect(process.isRunning()).toBe(true);
      expect(images(await remote.objectsOf('mdep', id))).not.toContain('web:3.0.0');
      expect(await leaseState()).toMatchObject({ holder: 'intruder', epoch: intruder.epoch, held: true });

      clearInterval(keeping);
      const after = await hub.ready(id);
      expect(after.active_revision_id).toBe(patched.body.latest_revision_id);
      expect(await leaseState()).toMatchObject({ holder: old.holder, held: true });
      expect((await leaseState()).epoch).toBeGreaterThan(intruder.epoch);
    } finally {
      clearInterval(keeping);
      link.open();
    }
  });
});

describe('the hub', () => {
  it('loses nothing of the other cluster when it is killed and restarts', async () => {
    const { id } = await hub.create(there(FIRST, 'survivor'));
    await hub.ready(id);
    await hub.process().stop('SIGKILL');
    const [database] = await remote.objectsOf('statefulsets', id);
    await remote.kubectl('delete', 'statefulset', '-n', FIRST, database?.metadata.name ?? '', '--wait=true');
    await waitFor(
      'the operator to make it again without the hub',
      async () => {
        const [now] = await remote.objectsOf('statefulsets', id);
        return now !== undefined && now.metadata.uid !== database?.metadata.uid;
      },
      { timeoutMs: 30_000 },
    );
    await hub.restart();
    const patched = await hub.call<DeploymentAnswer>('PATCH', `/v2/deployments/${id}`, {
      source_revision_config: { image_uri: 'registry.example/shop/web:4.0.0' },
    });
    expect(patched.status).toBe(200);
    const after = await hub.ready(id);
    expect(after.active_revision_id).toBe(patched.body.latest_revision_id);
    expect(await logOf()).not.toContain(listener.key);
  });
});

describe('docs/remote-listener.md', () => {
  const text = readFileSync(join(root, 'docs/remote-listener.md'), 'utf8');
  const bodies = [...text.matchAll(/-d '(\{[^']+\})'/g)].map(([, body = '']) => body);

  it('has requests that create the listener and place a deployment there', async () => {
    const [registration = '', deployment = ''] = bodies;
    expect(bodies).toHaveLength(2);
    const made = await hub.call<{ id: string }>('POST', '/v2/listeners', JSON.parse(registration));
    expect(made.status).toBe(201);
    const body = JSON.parse(deployment.replace('LISTENER_ID', made.body.id));
    const created = await hub.call('POST', '/v2/deployments', body);
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    expect(created.body.conditions.map(({ reason }) => reason)).toContain('ListenerNeverSeen');
  });

  it('has commands that create a listener and an operator with these settings in the other cluster', async () => {
    const blocks = [...text.matchAll(/^```sh cluster\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
    expect(blocks).toHaveLength(2);
    const { kubeconfigPath, kubectlPath } = remote.access;
    const folder = join(remote.stateDir, 'manifests');
    mkdirSync(folder);
    await unpackManifests(folder, { repository: 'berth', digest: `sha256:${'5'.repeat(64)}` });
    await promisify(execFile)('bash', ['-euc', `kubectl() { "$KUBECTL" "$@"; }\n${blocks.join('\n')}`], {
      cwd: folder,
      env: {
        PATH: globalThis.process.env['PATH'],
        KUBECTL: kubectlPath,
        HOME: remote.stateDir,
        KUBECONFIG: kubeconfigPath,
        LISTENER_ID: listener.id,
        LISTENER_KEY: listener.key,
        HUB_URL: 'https://berth.example.com',
        HUB_CA_FILE: join(remote.stateDir, 'hub-ca.pem'),
      },
    });
    const berthSystem = (...args: string[]) => remote.kubectl('-n', 'berth-system', ...args, '-o', 'json');
    const { data } = JSON.parse(await berthSystem('get', 'configmap', 'berth')) as {
      data: Record<string, string>;
    };
    expect(loadConfig({ ...data, BERTH_LISTENER_KEY: listener.key })).toMatchObject({
      hubUrl: 'https://berth.example.com',
      listenerId: listener.id,
      hubCaFile: '/etc/berth/hub-ca/ca.crt',
    });
    const { items } = JSON.parse(await berthSystem('get', 'deployments')) as { items: KubeItem[] };
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(['berth-listener', 'berth-operator']);
    const mounted = dirname(data['BERTH_HUB_CA'] ?? '');
    expect(images(items)).toContain(`"mountPath":"${mounted}"`);
  });

  it('names only existing settings', () => {
    const clients = ['BERTH_URL', 'BERTH_API_KEY'];
    const named = new Set(text.match(/\bBERTH_[A-Z_]+\b/g)?.filter((name) => !clients.includes(name)));
    expect([...named].filter((name) => !(name in SETTINGS))).toEqual([]);
  });
});

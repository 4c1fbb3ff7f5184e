/**
 * A purge that is interrupted: by the cluster's API server, by the hub, by the listener that does it. In a cluster of its
 * own, with API, operator and two replicas of the listener in processes of their own. Each ends clean all the same.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { FEW_COLLECTIONS, type LocalCluster, startCluster } from '../../../cluster/cluster.ts';
import { kubectl as runKubectl } from '../../../cluster/kubectl.ts';
import { freePorts } from '../../../cluster/ports.ts';
import { runningPid } from '../../../cluster/processes.ts';
import { waitFor } from '../../../cluster/wait.ts';
import type { BerthProcess } from '../../../installation/berth-process.ts';
import { BERTH_NAMESPACE, installBerth, roleKubeconfigs } from '../../../installation/install.ts';
import {
  type DeploymentAnswer,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../../harness/berth.ts';
import { objectsOf } from '../../harness/remote-cluster.ts';

const EVERYTHING =
  'mdep,deployments,replicasets,statefulsets,services,serviceaccounts,secrets,pvc,controllerrevisions.apps,networkpolicies,hpa,pdb,ingresses,pods';
const WAIT = { timeoutMs: 120_000, intervalMs: 200 };
const HOLD = 'test.example/hold';
/** The lease of a listener that is not heard of may be taken after a quarter of it. */
const LEASE_SECONDS = 12;

let own: LocalCluster;
let berth: WholeBerth;
let database: pg.Client;
let api: BerthProcess;
const folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-interrupted-'));
const listeners = new Map<string, BerthProcess>();

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  [own, berth] = await Promise.all([
    startCluster({ ...FEW_COLLECTIONS, log: () => {}, fsync: false }),
    startWholeBerth('interrupted', {
      start: 'api',
      settings: { BERTH_LEASE_SECONDS: String(LEASE_SECONDS), BERTH_PORT: String(port) },
    }),
  ]);
  api = berth.process();
  await installBerth(own);
  await runKubectl(own, ['create', 'namespace', berth.namespace]);
  const { operator } = await roleKubeconfigs(own, folder);
  await berth.startRole('operator', 'operator', {
    BERTH_OPERATOR_KUBECONFIG: operator,
    BERTH_NAMESPACE,
  });
  await startListener('one');
  database = new pg.Client({ connectionString: berth.databaseUrl });
  await database.connect();
}, 180_000);
afterEach(async () => {
  // The next test begins with one listener, whatever became of this one.
  for (const name of listeners.keys()) if (!isAlive(name)) listeners.delete(name);
  if (listeners.size === 0) await startListener('one');
});
afterAll(async () => {
  await database?.end();
  await berth?.stop();
  await own?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function startListener(name: string): Promise<void> {
  const { BERTH_PORT: port } = berth.settings;
  const settings = {
    BERTH_LISTENER_KUBECONFIG: join(folder, 'berth-listener.kubeconfig'),
    BERTH_HUB_URL: `http://127.0.0.1:${port}`,
    BERTH_NAMESPACE,
  };
  listeners.set(name, await berth.startRole('listener', name, settings));
}

const isAlive = (name: string) => listeners.get(name)?.isRunning() === true;
const killListener = async (name: string) => {
  await listeners.get(name)?.stop('SIGKILL');
  listeners.delete(name);
};
const signal = (name: string, kind: NodeJS.Signals) =>
  process.kill(runningPid(berth.stateDir, name) ?? 0, kind);

const kubectl = (...args: string[]) => runKubectl(own, ['-n', berth.namespace, ...args]);
const appOf = ({ id, name }: DeploymentAnswer) => `${name}-${id.replaceAll('-', '').slice(-8)}`;
const named = async (app: string, kinds: string) =>
  (await kubectl('get', kinds, '-o', 'name'))
    .split('\n')
    .filter((name) => name.includes(app))
    .sort();

async function ready(name: string): Promise<{ id: string; app: string }> {
  const created = await berth.create(smallDeployment(name, { secrets: [{ name: 'TOKEN', value: 'x' }] }));
  await berth.ready(created.id);
  return { id: created.id, app: appOf(created) };
}

/** What looks like a deployment's and is not: named alike, without Berth's mark. */
async function foreignTo(app: string): Promise<() => Promise<string>> {
  await kubectl('create', 'secret', 'generic', `${app}-env-9`);
  await kubectl('create', 'configmap', `${app}-db`);
  return () =>
    kubectl('get', `secret/${app}-env-9`, `configmap/${app}-db`, '-o', 'jsonpath={.items[*].metadata.uid}');
}

async function askForDeletion(id: string): Promise<void> {
  expect((await berth.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
}

const finalizers = (kind: string, name: string, wanted: string[]) =>
  kubectl('patch', kind, name, '--type=merge', '-p', JSON.stringify({ metadata: { finalizers: wanted } }));
const leaves = (kind: string, name: string) =>
  waitFor(
    `${kind} ${name} to be on its way out`,
    async () => (await kubectl('get', kind, name, '-o', 'jsonpath={.metadata.deletionTimestamp}')) !== '',
    WAIT,
  );
const isLeaving = async (id: string) =>
  expect((await berth.call('GET', `/v2/deployments/${id}`)).body.status).toBe('AWAITING_DELETE');

/** Waits for the end, and checks that it is complete in the cluster and reported once. */
async function ended(id: string): Promise<void> {
  await waitFor(
    `${id} to be gone`,
    async () => (await berth.call('GET', `/v2/deployments/${id}`)).status === 404,
    WAIT,
  );
  const left = await objectsOf(own, EVERYTHING, id);
  expect(left.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
  const { rows } = await database.query('SELECT due FROM tombstones WHERE id = $1', [id]);
  expect(rows).toEqual([{ due: false }]);
  const reported = await database.query(
    `SELECT count(*)::int AS n FROM events WHERE deployment_id = $1 AND reason = 'Deleted'`,
    [id],
  );
  expect(reported.rows).toEqual([{ n: 1 }]);
}

test('resumes a purge when the API server of the cluster is back; a new deployment of the same name becomes ready', async () => {
  const { id, app } = await ready('stopped');
  const foreign = await foreignTo(app);
  const uids = await foreign();
  await finalizers('pvc', `${app}-db`, [HOLD]);
  await askForDeletion(id);
  await leaves('pvc', `${app}-db`);
  await own.stopApiServer('SIGKILL');
  await isLeaving(id);
  const young = await berth.create(smallDeployment('stopped'));
  await own.startApiServer();
  await finalizers('pvc', `${app}-db`, []);
  await ended(id);
  expect(await foreign()).toBe(uids);
  expect(await named(app, EVERYTHING)).toEqual([`secret/${app}-env-9`]);
  expect((await berth.ready(young.id)).status).toBe('READY');
});

test('purges a paused deployment, because a pause applies to the operator only', async () => {
  const { id, app } = await ready('paused');
  await kubectl('annotate', 'mdep', app, 'berth.dev/paused=true');
  await kubectl('wait', '--for=condition=Paused', `mdep/${app}`, '--timeout=60s');
  await askForDeletion(id);
  await ended(id);
  expect(await named(app, EVERYTHING)).toEqual([]);
});

test('resumes a purge when the API process is killed and restarts', async () => {
  const { id, app } = await ready('hubless');
  await finalizers('pvc', `${app}-db`, [HOLD]);
  await askForDeletion(id);
  await leaves('pvc', `${app}-db`);
  await api.stop('SIGKILL');
  // What the listener has found clean it cannot tell anybody.
  await finalizers('pvc', `${app}-db`, []);
  await waitFor('the volume to be gone', async () => (await named(app, 'pvc')).length === 0, WAIT);
  await berth.restart();
  api = berth.process();
  await ended(id);
});

test('completes a purge with the second replica when the listener is killed after the custom resource was deleted', async () => {
  const { id, app } = await ready('taken-over');
  const foreign = await foreignTo(app);
  const uids = await foreign();
  const outliving = 'pvc,secrets,controllerrevisions.apps';
  const kept = await named(app, outliving);
  // The volume, its credentials and their copy, the environment, the stored templates, the sentinel.
  expect(kept.length).toBeGreaterThanOrEqual(6);
  await finalizers('mdep', app, [HOLD]);
  await askForDeletion(id);
  await leaves('mdep', app);
  await killListener('one');
  await finalizers('mdep', app, []);
  await waitFor('the custom resource to be gone', async () => (await named(app, 'mdep')).length === 0, WAIT);
  await isLeaving(id);
  // The StatefulSet's own revision goes with it.
  const left = await named(app, outliving);
  expect(kept.filter((name) => !left.includes(name) && !name.includes(`${app}-db-`))).toEqual([]);
  await startListener('two');
  await ended(id);
  expect(await foreign()).toBe(uids);
  expect(await named(app, EVERYTHING)).toEqual([`secret/${app}-env-9`]);
});

test('changes nothing when a listener is suspended during a purge and resumes after another one completed it', async () => {
  const [holder] = [...listeners.keys()].filter(isAlive);
  if (holder === undefined) throw new Error('there is no listener');
  const { id, app } = await ready('frozen');
  await finalizers('pvc', `${app}-db`, [HOLD]);
  await askForDeletion(id);
  await leaves('pvc', `${app}-db`);
  signal(holder, 'SIGSTOP');
  await startListener('third');
  await finalizers('pvc', `${app}-db`, []);
  await ended(id);
  const young = await ready('frozen');
  const objects = async () =>
    (await objectsOf(own, 'mdep,pvc,secrets,services,statefulsets', young.id))
      .map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.uid}`)
      .sort();
  const before = await objects();
  signal(holder, 'SIGCONT');
  // The one that was frozen is of use again once the one that took over is gone.
  await killListener('third');
  const last = await ready('awake');
  expect(await objects()).toEqual(before);
  await askForDeletion(last.id);
  await ended(last.id);
  expect((await berth.ready(young.id)).status).toBe('READY');
  // Three rollouts, two purges, and two leases that run out.
}, 300_000);

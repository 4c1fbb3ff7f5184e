/** The API's report of a failed rollout: through operator, custom resource, listener and store. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitFor } from '../../../cluster/wait.ts';
import { smallDeployment, startWholeBerth, type WholeBerth } from '../../harness/berth.ts';

let berth: WholeBerth;
beforeAll(async () => {
  berth = await startWholeBerth('report');
});
afterAll(() => berth?.stop());

interface Revision {
  id: string;
  number: number;
  status: string;
  reason: string | null;
  message: string | null;
}
interface Event {
  revision_id: string | null;
  reason: string;
  details: { from?: string; to?: string; failure_source?: object };
}

const revisionsOf = async (id: string) =>
  (await berth.call<{ resources: Revision[] }>('GET', `/v2/deployments/${id}/revisions`)).body.resources;
const eventsOf = async (id: string) =>
  (await berth.call<{ resources: Event[] }>('GET', `/v2/deployments/${id}/events?limit=100`)).body.resources;
const patched = (id: string, body: object) => berth.call('PATCH', `/v2/deployments/${id}`, body);

/** Waits until the newest revision has failed and the cluster is as it was before. */
async function failed(id: string): Promise<Revision> {
  const revision = await waitFor(
    'the failure of the newest revision',
    async () => {
      const [newest] = await revisionsOf(id);
      return newest?.status === 'DEPLOY_FAILED' && newest;
    },
    { timeoutMs: 60_000, intervalMs: 100 },
  );
  await berth.until(id, 'rolled back', ({ conditions }) =>
    conditions.some(({ type, reason }) => type === 'Progressing' && reason === 'RolledBack'),
  );
  return revision;
}

it('reports DEPLOY_FAILED with its source for a revision that crashes, and keeps the former one active', async () => {
  const { id } = await berth.create(smallDeployment('shop'));
  const before = await berth.ready(id);
  await patched(id, { source_revision_config: { image_uri: 'registry.example/web:fail-crash-loop' } });
  const revision = await failed(id);
  expect(revision).toMatchObject({ number: 2, reason: 'CrashLoop' });
  expect(revision.message).toMatch(/^api: pod \S+, container app: CrashLoopBackOff: exit code 7; .*redeploy/);
  const now = (await berth.call('GET', `/v2/deployments/${id}`)).body;
  expect(now).toMatchObject({
    status: 'READY',
    active_revision_id: before.active_revision_id,
    latest_revision_id: revision.id,
  });
  const condition = (type: string) => now.conditions.find((found) => found.type === type);
  expect(condition('Ready')).toMatchObject({ status: 'False', reason: 'CrashLoop' });
  expect(condition('Serving')).toMatchObject({ status: 'True', reason: 'Available' });
  const failureSource = {
    component: 'api',
    kind: 'Pod',
    container: 'app',
    container_kind: 'app',
    exit_code: 7,
    detail: 'simulated failure of app: password=***',
  };
  const reported = (await eventsOf(id)).filter(({ details }) => details.to === 'DEPLOY_FAILED');
  expect(reported).toMatchObject([
    {
      revision_id: revision.id,
      reason: 'CrashLoop',
      details: { from: 'DEPLOYING', failure_source: failureSource },
    },
  ]);
  const database = new pg.Client({ connectionString: berth.databaseUrl });
  await database.connect();
  const { rows } = await database.query('SELECT culprit AS failure_source FROM revisions WHERE id = $1', [
    revision.id,
  ]);
  await database.end();
  expect(rows).toMatchObject([{ failure_source: failureSource }]);
  // The next one comes up as if nothing had been.
  await patched(id, { source_revision_config: { image_uri: 'registry.example/web:3' } });
  await berth.ready(id);
  expect((await revisionsOf(id)).map(({ status }) => status)).toEqual([
    'DEPLOYED',
    'DEPLOY_FAILED',
    'DEPLOYED',
  ]);
});

it('reports a failed change of source_config, and keeps the states of the revisions', async () => {
  const { id } = await berth.create(smallDeployment('in place'));
  const before = await berth.ready(id);
  const sidecar = (image: string) => ({
    source_config: { resource_spec: { sidecars: [{ name: 'log', image }] } },
  });
  expect((await patched(id, sidecar('registry.example/log:fail-invalid-image'))).status).toBe(200);
  const now = await berth.until(id, 'rolled back', ({ conditions }) =>
    conditions.some(({ type, reason }) => type === 'Progressing' && reason === 'RolledBack'),
  );
  expect(now).toMatchObject({ status: 'READY', active_revision_id: before.active_revision_id });
  expect(now.remote_reconciled).toBe(false);
  const ready = now.conditions.find(({ type }) => type === 'Ready');
  expect(ready).toMatchObject({ status: 'False', reason: 'InvalidImageName' });
  expect(ready?.message).toMatch(
    /container log \(sidecar\): InvalidImageName: .*until source_config changes/,
  );
  expect((await revisionsOf(id)).map(({ status }) => status)).toEqual(['DEPLOYED']);
  expect((await patched(id, sidecar('registry.example/log:2'))).status).toBe(200);
  await berth.ready(id);
});

it('applies source_config to the active revision after a failed one, and reports its failure for it', async () => {
  const { id } = await berth.create(smallDeployment('held'));
  const before = await berth.ready(id);
  await patched(id, { source_revision_config: { image_uri: 'registry.example/web:fail-invalid-image' } });
  const revision = await failed(id);
  const change = (resource_spec: object) => ({ source_config: { resource_spec } });
  interface Outlook {
    new_revision: boolean;
    pods_roll: boolean;
    manifests: { kind: string; metadata: { name: string }; spec?: unknown }[];
  }
  const outlook = async (resource_spec: object) => {
    const path = `/v2/deployments/${id}?dry_run=true`;
    return (await berth.call<Outlook>('PATCH', path, change(resource_spec))).body;
  };
  const reported = await outlook({ memory_mb: 3000, memory_limit_mb: 3000 });
  expect(reported).toMatchObject({ new_revision: false, pods_roll: true });
  const api = reported.manifests.find(
    ({ kind, metadata }) => kind === 'Deployment' && /-api$/.test(metadata.name),
  );
  expect(JSON.stringify(api?.spec)).toContain('shop/web:1.0.0');
  const memory = async () => {
    const { items } = await berth.get(
      'deploy',
      '-l',
      `berth.dev/deployment-id=${id},app.kubernetes.io/component=api`,
    );
    return JSON.stringify(items[0]?.spec['template']);
  };
  expect((await patched(id, change({ memory_mb: 3000, memory_limit_mb: 3000 }))).status).toBe(200);
  await waitFor('the change in place', async () => (await memory()).includes('3000Mi'), {
    timeoutMs: 60_000,
  });
  expect(
    (await patched(id, change({ sidecars: [{ name: 'log', image: 'x/log:fail-invalid-image' }] }))).status,
  ).toBe(200);
  const events = await waitFor(
    'the failure of the change',
    async () => {
      const found = await eventsOf(id);
      return (
        found.some(
          ({ revision_id, reason }) =>
            revision_id === before.active_revision_id && reason === 'InvalidImageName',
        ) && found
      );
    },
    { timeoutMs: 60_000, intervalMs: 200 },
  );
  expect(
    events.find(
      ({ revision_id, reason }) => revision_id === before.active_revision_id && reason === 'InvalidImageName',
    )?.details.failure_source,
  ).toMatchObject({ container: 'log' });
  expect(await memory()).toContain('3000Mi');
  const now = (await berth.call('GET', `/v2/deployments/${id}`)).body;
  expect(now).toMatchObject({
    status: 'READY',
    active_revision_id: before.active_revision_id,
    latest_revision_id: revision.id,
  });
});

/**
 * The main job, end to end: HTTP → PostgreSQL → listener → ManagedDeployment → operator → workloads → status → HTTP.
 * Berth runs as users run it, with the rights of its ServiceAccounts, on simulated nodes.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../cluster/wait.ts';
import { type KubeItem, smallDeployment, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { kubectlAsAdmin } from '../harness/environment.ts';

const samplesFolder = fileURLToPath(new URL('../../samples/', import.meta.url));
const samples = readdirSync(samplesFolder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => ({ file, body: JSON.parse(readFileSync(`${samplesFolder}${file}`, 'utf8')) }))
  .filter(({ body }) => body.source !== 'git_host');

const OWNED = 'deployments,statefulsets,services,hpa,pdb,networkpolicies,serviceaccounts';
const UNOWNED = 'pvc,secrets,controllerrevisions.apps';

let berth: WholeBerth;
beforeAll(async () => {
  berth = await startWholeBerth('main');
  await kubectlAsAdmin(['apply', '-n', berth.namespace, '-f', `${samplesFolder}prerequisites.yaml`]);
});
afterAll(() => berth?.stop());

const selector = (id: string) => ['-l', `berth.dev/deployment-id=${id}`];

async function objectsOf(kinds: string, id: string): Promise<KubeItem[]> {
  return (await berth.get(kinds, ...selector(id))).items;
}

/** What outlives the custom resource; the history that Kubernetes keeps of a StatefulSet is no part of it. */
async function unownedOf(id: string): Promise<KubeItem[]> {
  const found = await objectsOf(UNOWNED, id);
  return found.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind !== 'StatefulSet');
}

describe('the sample', () => {
  it.each(samples)(
    '$file becomes READY with its latest revision active and every pod ready',
    async ({ body }) => {
      const created = await berth.create(body);
      expect(created.status).toBe('AWAITING_DATABASE');
      expect(created.active_revision_id).toBeNull();
      const ready = await berth.ready(created.id);
      expect(ready.conditions.find(({ type }) => type === 'Ready')?.status).toBe('True');
      const deployments = await objectsOf('deployments', created.id);
      expect(deployments.length).toBeGreaterThanOrEqual(2);
      for (const { metadata, spec, status } of deployments) {
        expect([metadata.name, status?.['availableReplicas'] ?? 0]).toEqual([
          metadata.name,
          spec['replicas'],
        ]);
      }
      const [database] = await objectsOf('statefulsets', created.id);
      expect(database?.status?.['readyReplicas']).toBe(1);
    },
  );
});

describe('the objects of a deployment', () => {
  it('have owner references, readable names and the deployment id; kubectl shows the state of the custom resource', async () => {
    const created = await berth.create(
      smallDeployment('Checkout Service', { source_config: { resource_spec: { queue_cpu: 0.25 } } }),
    );
    await berth.ready(created.id);
    const app = `checkout-service-${created.id.replaceAll('-', '').slice(-8)}`;
    const [resource] = await objectsOf('mdep', created.id);
    expect(resource?.metadata.name).toBe(app);

    for (const { kind, metadata } of await objectsOf(OWNED, created.id)) {
      expect(`${kind} ${metadata.name}`).toContain(app);
      expect(metadata.ownerReferences).toEqual([
        expect.objectContaining({
          kind: 'ManagedDeployment',
          name: app,
          uid: resource?.metadata.uid,
          controller: true,
        }),
      ]);
    }
    for (const { metadata } of await unownedOf(created.id)) {
      expect(metadata.name).toContain(app);
      // These must outlive the custom resource. The Secrets own their sentinel (decision 0023).
      const owners = metadata.ownerReferences?.map(({ kind }) => kind) ?? [];
      expect(owners.filter((kind) => kind !== 'Secret')).toEqual([]);
    }

    await kubectlAsAdmin([
      'wait',
      '-n',
      berth.namespace,
      '--for=condition=Ready',
      `mdep/${app}`,
      '--timeout=10s',
    ]);
    const table = await kubectlAsAdmin(['get', 'mdep', '-n', berth.namespace, app]);
    expect(table.split('\n')[0]?.split(/\s+/).filter(Boolean)).toEqual([
      'NAME',
      'READY',
      'STATUS',
      'REASON',
      'REVISION',
      'ACTIVE',
      'AGE',
    ]);
    expect(table).toMatch(/ True +READY +Converged +1 +1 /);
    const events = await berth.get('events', '--field-selector', `involvedObject.name=${app}`);
    expect(events.items.length).toBeGreaterThan(0);
    const rollout = await kubectlAsAdmin([
      'rollout',
      'status',
      '-n',
      berth.namespace,
      `deploy/${app}-api`,
      '--timeout=10s',
    ]);
    expect(rollout).toContain('successfully rolled out');
  });

  it('are explained by kubectl', async () => {
    const text = await kubectlAsAdmin(['explain', 'mdep.spec.components.api.scale']);
    expect(text).toContain('Number of pods');
    expect(await kubectlAsAdmin(['explain', 'mdep.spec.podTemplate.sidecars'])).toContain('restartPolicy');
  });
});

describe('a change of a deployment', () => {
  it('creates a revision that becomes active, and is in the history, when it changes the image', async () => {
    const created = await berth.create(smallDeployment('new-image'));
    const first = await berth.ready(created.id);
    const patched = await berth.call('PATCH', `/v2/deployments/${created.id}`, {
      source_revision_config: { image_uri: 'registry.example/shop/web:2.0.0' },
    });
    expect(patched.status).toBe(200);
    expect(patched.body.latest_revision_id).not.toBe(first.latest_revision_id);
    expect(patched.body.active_revision_id).toBe(first.active_revision_id);
    const second = await berth.ready(created.id);
    expect(second.active_revision_id).toBe(patched.body.latest_revision_id);
    const [api] = (await objectsOf('pods', created.id)).filter(
      ({ metadata }) =>
        metadata.labels?.['app.kubernetes.io/component'] === 'api' && !metadata.deletionTimestamp,
    );
    expect(JSON.stringify(api?.spec)).toContain('registry.example/shop/web:2.0.0');
    const revisions = await berth.call<{
      resources: { number: number; status: string; deployed_at: string | null }[];
    }>('GET', `/v2/deployments/${created.id}/revisions`);
    expect(revisions.body.resources.map(({ number, status }) => [number, status])).toEqual([
      [2, 'DEPLOYED'],
      [1, 'DEPLOYED'],
    ]);
    const events = await berth.call<{ resources: { reason: string }[] }>(
      'GET',
      `/v2/deployments/${created.id}/events`,
    );
    expect(events.body.resources.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['Created', 'Patched']),
    );
  });

  it('rolls the pods in place under the same revision when it changes source_config', async () => {
    const created = await berth.create(smallDeployment('in-place'));
    const first = await berth.ready(created.id);
    const patched = await berth.call('PATCH', `/v2/deployments/${created.id}`, {
      source_config: { resource_spec: { memory_mb: 300, labels: { team: 'checkout' } } },
    });
    expect(patched.body.latest_revision_id).toBe(first.latest_revision_id);
    expect(patched.body.generation).toBe(2);
    const second = await berth.ready(created.id);
    expect(second.observed_generation).toBe(2);
    const pods = (await objectsOf('pods', created.id)).filter(
      ({ metadata }) => metadata.labels?.['team'] === 'checkout' && !metadata.deletionTimestamp,
    );
    expect(pods.length).toBe(1);
    expect(JSON.stringify(pods[0]?.spec)).toContain('300Mi');
  });

  it('leaves only the data and UNUSED when it sets max_scale to 0, and can be reverted', async () => {
    const created = await berth.create(
      smallDeployment('off-and-on', { source_config: { resource_spec: { min_scale: 1, max_scale: 3 } } }),
    );
    const first = await berth.ready(created.id);
    const [volume] = await objectsOf('pvc', created.id);
    await berth.call('PATCH', `/v2/deployments/${created.id}`, {
      source_config: { resource_spec: { min_scale: 0, max_scale: 0 } },
    });
    const off = await berth.until(created.id, 'UNUSED', ({ status }) => status === 'UNUSED');
    expect(off.active_revision_id).toBe(first.active_revision_id);
    expect(
      (await objectsOf('pods,hpa', created.id)).filter(({ metadata }) => !metadata.deletionTimestamp),
    ).toEqual([]);
    await berth.call('PATCH', `/v2/deployments/${created.id}`, {
      source_config: { resource_spec: { min_scale: 1, max_scale: 3 } },
    });
    await berth.ready(created.id);
    const [again] = await objectsOf('pvc', created.id);
    expect(again?.metadata.uid).toBe(volume?.metadata.uid);
    expect(await objectsOf('hpa', created.id)).toHaveLength(1);
  });

  it('can add an internal image later, and the deployment is UNUSED until then', async () => {
    const created = await berth.create({
      name: 'image-later',
      source: 'internal_image',
      source_config: {},
      source_revision_config: {},
      secrets: [],
    });
    expect([created.status, created.latest_revision_id]).toEqual(['UNUSED', null]);
    await berth.call('PATCH', `/v2/deployments/${created.id}`, {
      source_revision_config: { image_uri: 'registry.example/team/app:1' },
    });
    await berth.ready(created.id);
  });

  it('leaves no object and no record when it is a DELETE, but keeps the tracing project', async () => {
    const created = await berth.create(
      smallDeployment('short-lived', { secrets: [{ name: 'TOKEN', value: 'x' }] }),
    );
    await berth.ready(created.id);
    expect((await berth.call('DELETE', `/v2/deployments/${created.id}`)).status).toBe(204);
    const later = await berth.call('GET', `/v2/deployments/${created.id}`);
    if (later.status === 200) expect(later.body.status).toBe('AWAITING_DELETE');
    await waitFor(
      'the record to be gone',
      async () => (await berth.call('GET', `/v2/deployments/${created.id}`)).status === 404,
      { timeoutMs: 60_000 },
    );
    expect(await objectsOf(`mdep,${OWNED},${UNOWNED},pods`, created.id)).toEqual([]);
    const projects = await berth.call<{ resources: { name: string }[] }>(
      'GET',
      '/v2/tracing-projects?limit=100',
    );
    expect(projects.body.resources.map(({ name }) => name)).toContain('short-lived');
    const again = await berth.create(smallDeployment('short-lived'));
    await berth.ready(again.id);
  });
});

describe('a lost custom resource', () => {
  it('is restored with volume, credentials and active revision', async () => {
    const created = await berth.create(
      smallDeployment('mistaken', { secrets: [{ name: 'TOKEN', value: 'x' }] }),
    );
    const before = await berth.ready(created.id);
    const kept = (await unownedOf(created.id)).map(
      ({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.uid}`,
    );
    const [resource] = await objectsOf('mdep', created.id);
    await kubectlAsAdmin([
      'delete',
      'mdep',
      '-n',
      berth.namespace,
      resource?.metadata.name ?? '',
      '--wait=true',
    ]);
    await waitFor(
      'a new custom resource',
      async () => {
        const [again] = await objectsOf('mdep', created.id);
        return again !== undefined && again.metadata.uid !== resource?.metadata.uid;
      },
      { timeoutMs: 60_000 },
    );
    const after = await berth.until(
      created.id,
      'READY again, seen so after the loss',
      (deployment) =>
        deployment.status === 'READY' &&
        deployment.conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
    );
    expect(after.active_revision_id).toBe(before.active_revision_id);
    expect(after.latest_revision_id).toBe(before.latest_revision_id);
    const now = (await unownedOf(created.id)).map(
      ({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.uid}`,
    );
    expect(now).toEqual(kept);
  });
});

/** The grace of a deletion: nothing runs, everything is kept, restore brings it back wholly; then, unasked, all of it goes. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { runBerth } from '../../../installation/berth-process.ts';
import {
  type ApiFixture,
  type Client,
  create,
  type Deployment,
  startApi,
  uniqueName,
} from '../../harness/api.ts';
import { smallDeployment, startWholeBerth, type WholeBerth } from '../../harness/berth.ts';
import { kubectlAsAdmin } from '../../harness/environment.ts';

describe('POST /v2/deployments/{id}/restore', () => {
  let api: ApiFixture;
  let client: Client;
  beforeAll(async () => {
    api = await startApi({ deps: { deletionGraceSeconds: 3600 } });
    client = await api.tenant();
  });
  afterAll(() => api.stop());

  const remove = (id: string, query = '') => client.call('DELETE', `/v2/deployments/${id}${query}`);
  const restore = (id: string, by = client) =>
    by.call<Deployment & { detail?: unknown }>('POST', `/v2/deployments/${id}/restore`);
  const refused = (status: number, detail: string) => ({
    status,
    body: { detail: expect.stringContaining(detail) },
  });

  test('restores the previous state in a new generation and records it in the history', async () => {
    const made = await create(client, { secrets: [{ name: 'A', value: '1' }] });
    await remove(made.id, '?delete_tracing_project=true');
    const deleted = await client.call<Deployment>('GET', `/v2/deployments/${made.id}`);
    expect(deleted.body).toMatchObject({ status: 'AWAITING_DELETE', generation: 2 });
    const answer = await restore(made.id);
    expect(answer).toMatchObject({ status: 200, headers: { etag: '"3"' } });
    const { updated_at: _then, ...before } = made;
    expect(answer.body).toMatchObject({ ...before, generation: 3 });
    const events = await client.call<{ resources: { reason: string; details: object }[] }>(
      'GET',
      `/v2/deployments/${made.id}/events`,
    );
    expect(events.body.resources).toMatchObject([
      { reason: 'Restored' },
      { reason: 'DeletionRequested', details: { purge_after: expect.any(String) } },
      { reason: 'Created' },
    ]);
    const patched = await client.call('PATCH', `/v2/deployments/${made.id}`, {
      source_config: { resource_spec: { max_scale: 2 } },
    });
    expect(patched.status).toBe(200);
  });

  test('returns 409 when nothing is being deleted, and 404 for an unknown id or another tenant', async () => {
    const made = await create(client);
    expect(await restore(made.id)).toMatchObject(refused(409, 'not being deleted'));
    await remove(made.id);
    expect((await restore(uuidv7())).status).toBe(404);
    expect((await restore(made.id, await api.tenant())).status).toBe(404);
    const reader = await api.client(client.tenantId, ['deployments:read']);
    expect((await restore(made.id, reader)).status).toBe(403);
    expect((await restore(made.id)).status).toBe(200);
  });

  test('returns 409 while another deployment has the name, and 200 when the name is free again', async () => {
    const made = await create(client);
    await remove(made.id);
    const next = await create(client, { name: made.name });
    expect(await restore(made.id)).toMatchObject(refused(409, 'name'));
    expect((await client.call<Deployment>('GET', `/v2/deployments/${made.id}`)).body).toMatchObject({
      status: 'AWAITING_DELETE',
      generation: 2,
    });
    await remove(next.id);
    expect((await restore(made.id)).status).toBe(200);
    expect(await restore(next.id)).toMatchObject(refused(409, 'name'));
  });

  test('restores without the custom_url when another tenant has the host, and records the lost URL', async () => {
    const custom_url = `https://${uniqueName('host')}.example.com`;
    const source_config = { custom_url, resource_spec: { max_scale: 3 } };
    const made = await create(client, { source_config });
    await remove(made.id);
    const other = await create(await api.tenant(), { source_config });
    expect(other.source_config).toMatchObject(source_config);
    const answer = await restore(made.id);
    expect(answer).toMatchObject({ status: 200, headers: { etag: '"3"' } });
    expect(answer.body.source_config).toMatchObject({ custom_url: null, resource_spec: { max_scale: 3 } });
    const rows = await client.call<{ resources: object[] }>(
      'GET',
      `/v2/deployments/${made.id}/events?limit=1`,
    );
    expect(rows.body.resources).toMatchObject([
      {
        reason: 'Restored',
        message: expect.stringContaining(`without its custom_url ${custom_url}`),
        details: { from: 'AWAITING_DELETE', lost_custom_url: custom_url },
      },
    ]);
    const patch = (url: string) =>
      client.call('PATCH', `/v2/deployments/${made.id}`, { source_config: { custom_url: url } });
    expect((await patch(custom_url)).status).toBe(409);
    expect((await patch(`https://${uniqueName('next')}.example.com`)).status).toBe(200);
  });

  test('restores without the domains that other deployments have, keeps the others, and records the lost ones', async () => {
    const [one, two, three] = ['one', 'two', 'three'].map((name) =>
      `${uniqueName(name)}.example.org`.toLowerCase(),
    );
    const custom_url = `https://${uniqueName('main')}.example.com`;
    const made = await create(client, { source_config: { custom_url, domains: [one, two, three] } });
    await remove(made.id);
    const tenant = await api.tenant();
    await create(tenant, { source_config: { domains: [two] } });
    await create(tenant, { source_config: { custom_url: `https://${three}` } });
    const answer = await restore(made.id);
    expect(answer.status).toBe(200);
    expect(answer.body.source_config).toMatchObject({ custom_url, domains: [one] });
    const rows = await client.call<{ resources: object[] }>(
      'GET',
      `/v2/deployments/${made.id}/events?limit=1`,
    );
    expect(rows.body.resources).toMatchObject([
      {
        reason: 'Restored',
        message: expect.stringContaining(`without its domains ${two}, ${three}`),
        details: { lost_domains: [two, three] },
      },
    ]);
    await remove(made.id);
    await create(tenant, { source_config: { domains: [one], custom_url: custom_url } });
    const again = await restore(made.id);
    expect(again.body.source_config).toMatchObject({ custom_url: null });
    expect(again.body.source_config).not.toHaveProperty('domains');
  });

  test('returns 409 while another tenant releases the host, and drops the URL near the end of the grace period', async () => {
    const custom_url = `https://${uniqueName('host')}.example.com`;
    const source_config = { custom_url };
    const takenAndLeft = async () => {
      const made = await create(client, { source_config });
      await remove(made.id);
      const tenant = await api.tenant();
      const other = await create(tenant, { source_config });
      // As if a listener had it.
      await api.store.sql(`UPDATE deployments SET spec_hash = 'x' WHERE id = $1`, [other.id]);
      expect((await tenant.call('DELETE', `/v2/deployments/${other.id}`)).status).toBe(204);
      return { made, other };
    };
    const { made, other } = await takenAndLeft();
    expect(await restore(made.id)).toMatchObject(refused(409, 'Try again in a moment'));
    expect((await client.call<Deployment>('GET', `/v2/deployments/${made.id}`)).body).toMatchObject({
      status: 'AWAITING_DELETE',
      source_config,
    });
    await api.store.sql('DELETE FROM leaving_hosts WHERE deployment_id = $1', [other.id]);
    const answer = await restore(made.id);
    expect(answer.status).toBe(200);
    expect(answer.body.source_config).toMatchObject(source_config);
    await remove(made.id);
    const next = await takenAndLeft();
    await api.store.sql(`UPDATE deployments SET purge_after = now() + interval '5 minutes' WHERE id = $1`, [
      next.made.id,
    ]);
    const late = await restore(next.made.id);
    expect(late.status).toBe(200);
    expect(late.body.source_config).toMatchObject({ custom_url: null });
  });

  test('restores the host that no other deployment has, even while it is being released', async () => {
    const source_config = { custom_url: `https://${uniqueName('own')}.example.com` };
    const made = await create(client, { source_config });
    const held = () =>
      api.store.sql('SELECT generation FROM leaving_hosts WHERE deployment_id = $1', [made.id]);
    // As if a listener had it.
    await api.store.sql(`UPDATE deployments SET spec_hash = 'x' WHERE id = $1`, [made.id]);
    const stranger = await api.tenant();
    const other = await create(stranger);
    const steal = () => stranger.call('PATCH', `/v2/deployments/${other.id}`, { source_config });
    for (const [minutes, generation] of [
      [60, 2],
      [5, 4],
    ]) {
      await remove(made.id);
      expect(await held()).toEqual([{ generation }]);
      await api.store.sql(
        'UPDATE deployments SET purge_after = now() + make_interval(mins => $2) WHERE id = $1',
        [made.id, minutes],
      );
      expect(await steal()).toMatchObject(refused(409, 'source_config.custom_url'));
      const answer = await restore(made.id);
      expect(answer.status).toBe(200);
      expect(answer.body.source_config).toMatchObject(source_config);
      expect(await held()).toEqual([]);
      expect(await steal()).toMatchObject(refused(409, 'source_config.custom_url'));
    }
  });

  test('returns 409 for the name and writes nothing when both the name and the host are taken', async () => {
    const source_config = { custom_url: `https://${uniqueName('both')}.example.com` };
    const made = await create(client, { source_config });
    await remove(made.id);
    const next = await create(client, { name: made.name, source_config });
    expect(await restore(made.id)).toMatchObject(refused(409, 'name'));
    const { body } = await client.call<Deployment>('GET', `/v2/deployments/${made.id}`);
    expect(body).toMatchObject({ status: 'AWAITING_DELETE', source_config });
    await remove(next.id);
    expect((await restore(made.id)).body.source_config).toMatchObject(source_config);
  });

  test('returns 409 after the end of the grace period', async () => {
    const made = await create(client);
    await remove(made.id);
    await api.store.sql('UPDATE deployments SET purge_after = now() WHERE id = $1', [made.id]);
    expect(await restore(made.id)).toMatchObject(refused(409, 'grace period of the deletion has ended'));
  });

  test('returns 404 after a deletion with force, which skips the grace period', async () => {
    const made = await create(client);
    await remove(made.id);
    expect((await remove(made.id, '?force=true')).status).toBe(204);
    expect((await restore(made.id)).status).toBe(404);
  });

  test('returns 400 while the deployment does not fit the quotas again', async () => {
    const tenant = await api.tenant();
    const made = await create(tenant);
    await tenant.call('DELETE', `/v2/deployments/${made.id}`);
    await api.store.sql(`UPDATE tenants SET quotas = '{"deployments": 1}' WHERE id = $1`, [tenant.tenantId]);
    const next = await create(tenant);
    expect((await restore(made.id, tenant)).status).toBe(400);
    await tenant.call('DELETE', `/v2/deployments/${next.id}`);
    expect((await restore(made.id, tenant)).status).toBe(200);
    await tenant.call('DELETE', `/v2/deployments/${made.id}`);
    await create(tenant);
    await api.store.sql('UPDATE deployments SET purge_after = now() WHERE id = $1', [made.id]);
    expect(await restore(made.id, tenant)).toMatchObject(
      refused(409, 'grace period of the deletion has ended'),
    );
  });

  test('succeeds once when many requests arrive at once', async () => {
    const made = await create(client);
    await remove(made.id);
    const answers = await Promise.all([...Array(8)].map(() => restore(made.id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(409)]);
  });

  test('succeeds only if a POST of the same name at the same time fails', async () => {
    for (let round = 0; round < 8; round += 1) {
      const made = await create(client);
      await remove(made.id);
      const { name, source, source_config, source_revision_config } = made;
      const body = { name, source, source_config: {}, source_revision_config, secrets: [] };
      expect(source_config).toBeDefined();
      const [restored, posted] = await Promise.all([
        restore(made.id),
        client.call('POST', '/v2/deployments', body),
      ]);
      expect([restored.status, posted.status]).toEqual(restored.status === 200 ? [200, 409] : [409, 201]);
    }
  });

  test('returns 409 when no grace period is configured', async () => {
    const none = await startApi();
    try {
      const tenant = await none.tenant();
      const made = await create(tenant);
      await tenant.call('DELETE', `/v2/deployments/${made.id}`);
      expect(await restore(made.id, tenant)).toMatchObject(
        refused(409, 'grace period of the deletion has ended'),
      );
    } finally {
      await none.stop();
    }
  });
});

describe('a deletion in a cluster', () => {
  let berth: WholeBerth;
  beforeAll(async () => {
    berth = await startWholeBerth('restore', { settings: { BERTH_DELETION_GRACE: '3600' } });
  });
  afterAll(() => berth?.stop());

  const labelled = (id: string, kinds: string) => berth.get(kinds, '-l', `berth.dev/deployment-id=${id}`);
  const running = async (id: string) =>
    (await labelled(id, 'pods')).items.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .length;
  /** What a restored deployment must find as it was, and the workloads themselves. */
  const kept = async (id: string) =>
    (await labelled(id, 'pvc,secrets,mdep,deployments.apps,statefulsets.apps')).items
      .map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.uid}`)
      .sort();
  const stored = async (id: string) =>
    (await labelled(id, 'controllerrevisions.apps')).items
      .filter(({ metadata }) => metadata.ownerReferences === undefined)
      .map(({ metadata }) => metadata.uid);
  /** The API and kubectl show that it is being deleted, and until when it can be restored. */
  async function tellsUntilWhen(id: string): Promise<void> {
    const resource = async () => (await labelled(id, 'mdep')).items[0];
    await waitFor(
      'the resource to say so',
      async () => (await resource())?.status?.['deploymentStatus'] === 'AWAITING_DELETE',
      {
        timeoutMs: 60_000,
      },
    );
    const { body } = await berth.call('GET', `/v2/deployments/${id}`);
    const said = body.conditions.find(({ type }) => type === 'Ready');
    const { spec, status } = (await resource()) ?? {};
    const { requestTime, restorableUntilTime } = (spec?.['deletion'] ?? {}) as Record<string, string>;
    expect(Date.parse(restorableUntilTime ?? '') - Date.parse(requestTime ?? '')).toBe(3_600_000);
    expect(said).toMatchObject({ status: 'False', reason: 'DeletionRequested' });
    expect(said?.message).toContain(`can be restored until ${restorableUntilTime}`);
    const conditions = status?.['conditions'] as typeof body.conditions;
    expect(conditions.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'DeletionRequested',
      message: said?.message,
    });
  }
  const suspended = (id: string) =>
    waitFor('no pod to be left', async () => (await running(id)) === 0, { timeoutMs: 60_000 });

  /** As if the grace had been shorter. */
  async function endGraceIn(id: string, seconds: number): Promise<void> {
    const database = new pg.Client({ connectionString: berth.databaseUrl });
    await database.connect();
    try {
      await database.query(`SET berth.tenant_id = '*'`);
      const { rowCount } = await database.query(
        `UPDATE deployments SET purge_after = now() + make_interval(secs => $2),
           next_attempt_at = now() + make_interval(secs => $2) WHERE id = $1 AND purge_after > now()`,
        [id, seconds],
      );
      expect(rowCount).toBe(1);
    } finally {
      await database.end();
    }
  }

  const gone = (id: string) =>
    waitFor(
      'the record and every object to be gone',
      async () => {
        const answer = await berth.call('GET', `/v2/deployments/${id}`);
        const kinds =
          'mdep,pods,deployments.apps,statefulsets.apps,services,pvc,secrets,controllerrevisions.apps';
        return answer.status === 404 && (await labelled(id, kinds)).items.length === 0;
      },
      { timeoutMs: 120_000 },
    );

  test('removes the pods and keeps volume and Secrets, and a restore brings back the same revision', async () => {
    const secrets = [{ name: 'TOKEN', value: 'x' }];
    const { id } = await berth.create(smallDeployment('back', { secrets }));
    const ready = await berth.ready(id);
    const before = { objects: await kept(id), templates: await stored(id) };
    expect(await running(id)).toBeGreaterThan(0);

    expect((await berth.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
    await suspended(id);
    expect((await berth.call('GET', `/v2/deployments/${id}`)).body.status).toBe('AWAITING_DELETE');
    expect({ objects: await kept(id), templates: await stored(id) }).toEqual(before);
    await tellsUntilWhen(id);

    const restored = await berth.call('POST', `/v2/deployments/${id}/restore`);
    expect(restored).toMatchObject({ status: 200, body: { active_revision_id: ready.active_revision_id } });
    const again = await berth.until(
      id,
      'READY again with pods',
      ({ status, remote_reconciled: reconciled, conditions }) =>
        status === 'READY' &&
        reconciled &&
        conditions.some(({ type, status: holds }) => type === 'Ready' && holds === 'True'),
    );
    expect(again).toMatchObject({
      active_revision_id: ready.active_revision_id,
      latest_revision_id: ready.latest_revision_id,
      generation: 3,
    });
    expect(await running(id)).toBeGreaterThan(0);
    expect({ objects: await kept(id), templates: await stored(id) }).toEqual(before);
  });

  test('leaves the pods of a paused deployment running and reports this, and a restore keeps the same pods', async () => {
    const { id } = await berth.create(smallDeployment('paused'));
    await berth.ready(id);
    const [{ metadata } = { metadata: { name: '' } }] = (await labelled(id, 'mdep')).items;
    const pods = async () => (await labelled(id, 'pods')).items.map(({ metadata: { uid } }) => uid).sort();
    const before = await pods();
    const annotate = (text: string) =>
      kubectlAsAdmin(['annotate', 'mdep', '-n', berth.namespace, metadata.name, text]);
    await annotate('berth.dev/paused=true');
    await berth.until(id, 'paused', ({ conditions }) => conditions.some(({ type }) => type === 'Paused'));
    await berth.call('DELETE', `/v2/deployments/${id}`);
    await waitFor(
      'the resource to say so',
      async () =>
        JSON.stringify((await labelled(id, 'mdep')).items).includes(
          '; paused: running pods are not stopped before the pause ends',
        ),
      { timeoutMs: 60_000 },
    );
    expect(await pods()).toEqual(before);
    expect((await berth.call('POST', `/v2/deployments/${id}/restore`)).status).toBe(200);
    await annotate('berth.dev/paused-');
    await berth.ready(id);
    expect(await pods()).toEqual(before);
  });

  test('restores a custom resource that was deleted within the grace period, with its data', async () => {
    const { id } = await berth.create(smallDeployment('lost'));
    const ready = await berth.ready(id);
    const volumes = async () => (await labelled(id, 'pvc')).items.map(({ metadata }) => metadata.uid);
    const before = await volumes();
    await berth.call('DELETE', `/v2/deployments/${id}`);
    await suspended(id);
    const [resource] = (await labelled(id, 'mdep')).items;
    await kubectlAsAdmin(['delete', 'mdep', '-n', berth.namespace, resource?.metadata.name ?? '']);
    expect((await berth.call('POST', `/v2/deployments/${id}/restore`)).status).toBe(200);
    expect((await berth.ready(id)).active_revision_id).toBe(ready.active_revision_id);
    expect(await volumes()).toEqual(before);
  });

  test('removes every object with force although the cluster is available', async () => {
    const secrets = (value: string) => ({ secrets: [{ name: 'A', value }] });
    const { id } = await berth.create(smallDeployment('forgotten', secrets('1')));
    await berth.ready(id);
    await berth.call('PATCH', `/v2/deployments/${id}`, secrets('2'));
    await berth.ready(id);
    // The key of the harness is a tenant's ordinary one.
    expect((await berth.call('DELETE', `/v2/deployments/${id}?force=true`)).status).toBe(403);
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
    const admin = JSON.parse(await runBerth(berth.stateDir, ['keys', 'create', ...options], berth.settings));
    const answer = await fetch(new URL(`/v2/deployments/${id}?force=true`, berth.process().url), {
      method: 'DELETE',
      headers: { 'x-api-key': admin.api_key },
      signal: AbortSignal.timeout(30_000),
    });
    expect(answer.status).toBe(204);
    expect((await berth.call('GET', `/v2/deployments/${id}`)).status).toBe(404);
    await gone(id);
  });

  test('removes everything when the grace period ends without a restore', async () => {
    const { id } = await berth.create(smallDeployment('ending', { secrets: [{ name: 'A', value: '1' }] }));
    await berth.ready(id);
    await berth.call('DELETE', `/v2/deployments/${id}`);
    await suspended(id);
    await endGraceIn(id, 2);
    await gone(id);
  });

  test('starts the purge at the next start when the grace period ended while Berth was stopped', async () => {
    const { id } = await berth.create(smallDeployment('asleep'));
    await berth.ready(id);
    await berth.call('DELETE', `/v2/deployments/${id}`);
    await suspended(id);
    await berth.process().stop('SIGKILL');
    await endGraceIn(id, 0);
    await berth.restart();
    await gone(id);
  });
});

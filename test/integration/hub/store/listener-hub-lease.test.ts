import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { findDeployment, listDeployments } from '../../../../src/hub/store/deployments/deployments.ts';
import { recordLostListeners } from '../../../../src/hub/store/listeners/listener-loss.ts';
import { createListener } from '../../../../src/hub/store/listeners/listeners.ts';
import { type HubFixture, observedReport, PLATFORM, protocolClient, startHub } from '../../harness/hub.ts';
import { insert, newTenant } from '../../harness/store.ts';

let hub: HubFixture;
beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub.stop());
beforeEach(async () => {
  hub.caller = PLATFORM;
  await hub.store.sql('UPDATE listeners SET lease_holder = NULL, lease_expires_at = NULL');
});

const expire = () =>
  hub.store.sql(
    `UPDATE listeners SET lease_expires_at = now() - interval '1 s', last_seen_at = now() - interval '61 s'`,
  );
const events = () =>
  hub.store.sql<{ reason: string }>(`SELECT reason FROM events WHERE listener_id IS NOT NULL ORDER BY id`);

describe('the lease of a listener', () => {
  it('is taken by one holder, renewed by that holder and refused to others', async () => {
    const [a, b] = [protocolClient(hub, 'a'), protocolClient(hub, 'b')];
    const taken = await a.lease();
    expect(taken.status).toBe(200);
    expect((await a.lease()).body.epoch).toBe(taken.body.epoch);
    const refused = await b.lease();
    expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('a holds it') } });
    const [row] = await hub.store.sql<{ alive: boolean; version: string }>(
      'SELECT lease_expires_at > now() AS alive, version FROM listeners WHERE id = $1',
      [PLATFORM_LISTENER_ID],
    );
    expect(row).toEqual({ alive: true, version: '1' });
  });

  it('rejects an invalid name of a namespace', async () => {
    const refused = await protocolClient(hub, 'a').lease({ namespaces: ['apps', 'No Namespace'] });
    expect(refused.status).toBe(422);
    expect(refused.body.detail).toMatchObject([{ loc: ['body', 'namespaces', 1] }]);
  });

  it('passes to another holder when it expires, and the former holder gets 409 for every call', async () => {
    const [a, b] = [protocolClient(hub, 'a'), protocolClient(hub, 'b')];
    await a.lease();
    await expire();
    const taken = await b.lease();
    expect(taken.body.epoch).toBe((a.epoch ?? 0) + 1);
    for (const answer of [await a.lease(), await a.work(), await a.report([]), await a.inventory([])]) {
      expect(answer.status).toBe(409);
    }
    expect((await b.work()).status).toBe(200);
  });

  it('is renewed in its epoch after it expired when no other process took it', async () => {
    const a = protocolClient(hub, 'a');
    await a.lease();
    const before = a.epoch;
    await expire();
    expect((await a.lease()).body.epoch).toBe(before);
  });

  it('is free at once after a release, but its observations stay current until it expires', async () => {
    const [a, b] = [protocolClient(hub, 'a'), protocolClient(hub, 'b')];
    await a.lease();
    expect((await a.lease({ release: true })).status).toBe(200);
    const [row] = await hub.store.sql<{ alive: boolean }>(
      'SELECT lease_expires_at > now() AS alive FROM listeners WHERE id = $1',
      [PLATFORM_LISTENER_ID],
    );
    expect(row?.alive).toBe(true);
    expect((await b.lease()).status).toBe(200);
  });

  it('begins a new epoch for a process that restarts with its old name, so that its seq restarts', async () => {
    const first = protocolClient(hub, 'a');
    await first.lease();
    await first.report([]);
    await first.report([]);
    const second = protocolClient(hub, 'a');
    await second.lease();
    expect(second.epoch).toBe((first.epoch ?? 0) + 1);
    expect((await second.report([])).body).toEqual({ accepted_seq: 1 });
  });

  it('records the namespaces that the listener names, and keeps them when it names none', async () => {
    const a = protocolClient(hub, 'a');
    await a.lease({ namespaces: ['team-a', 'team-b'] });
    await a.lease();
    const [row] = await hub.store.sql<{ compute_config: object }>(
      'SELECT compute_config FROM listeners WHERE id = $1',
      [PLATFORM_LISTENER_ID],
    );
    expect(row?.compute_config).toMatchObject({ k8s_namespaces: ['team-a', 'team-b'] });
  });

  it('records its loss and its return once each', async () => {
    const before = (await events()).length;
    const a = protocolClient(hub, 'a');
    await a.lease();
    await a.inventory([], true);
    await expire();
    const record = () => hub.store.database.platform.transaction(recordLostListeners);
    expect([await record(), await record()]).toEqual([1, 0]);
    await a.lease();
    await a.lease({ cluster_reachable: false });
    await a.lease({ cluster_reachable: false });
    await a.lease();
    expect((await events()).slice(before).map(({ reason }) => reason)).toEqual([
      'ListenerLost',
      'ListenerReturned',
      'ClusterUnreachable',
      'ListenerReturned',
    ]);
  });
});

describe('the status of a deployment', () => {
  const record = () => hub.store.database.platform.transaction(recordLostListeners);
  const dataReady = (status: 'True' | 'False') =>
    ['DatabaseReady', 'CacheReady'].map((type) => ({
      type,
      status,
      reason: 'DatabaseAvailable',
      message: 'm',
      lastTransitionTime: new Date().toISOString(),
    }));

  it('is UNKNOWN after the loss of its listener until the first complete inventory of a new holder', async () => {
    const { tenantId, scope } = await newTenant(hub.store);
    const shop = await insert(hub.store, tenantId, 'shop');
    // A resource that a complete inventory lacks is missing in the cluster.
    const entry = {
      deployment_id: shop.id,
      name: shop.appName,
      namespace: shop.namespace,
      uid: 'u',
      generation: 1,
      spec_hash: 'h',
      applied_hash: 'h',
    };
    const report = (status: 'True' | 'False') => [observedReport(shop, { conditions: dataReady(status) })];
    /** As it is read, by id and by the filter, and what its condition says. */
    const seen = async () => {
      const found = await scope.read((reader) => findDeployment(reader, tenantId, shop.id));
      const page = { limit: 10, offset: 0 };
      const unknown = await scope.read((reader) =>
        listDeployments(reader, tenantId, { status: 'UNKNOWN' }, page),
      );
      expect(unknown.length).toBe(found?.status === 'UNKNOWN' ? 1 : 0);
      return found?.status;
    };
    const first = protocolClient(hub, 'first');
    await first.lease({ namespaces: [] });
    await first.report(report('True'));
    await first.inventory([entry], true);
    expect(await seen()).toBe('READY');

    // A successor within the duration of the lease has no visible effect.
    await first.lease({ release: true });
    const second = protocolClient(hub, 'second');
    await second.lease();
    expect(await seen()).toBe('READY');

    // The same process has looked before: it knows what has changed meanwhile.
    await second.inventory([entry], true);
    await expire();
    await record();
    expect(await seen()).toBe('UNKNOWN');
    await second.lease();
    expect(await seen()).toBe('READY');

    await expire();
    await record();
    const third = protocolClient(hub, 'third');
    await third.lease({ cluster_reachable: false });
    await third.lease();
    expect(await seen()).toBe('UNKNOWN');
    await third.report(report('False'));
    await third.inventory([]);
    expect(await seen()).toBe('UNKNOWN');
    const told = (await events()).length;
    await third.inventory([entry], true);
    expect(await seen()).toBe('AWAITING_DATABASE');
    expect((await events()).slice(told).map(({ reason }) => reason)).toEqual(['ListenerReturned']);
    const story = await hub.store.sql<{ to: string }>(
      `SELECT details ->> 'to' AS to FROM events WHERE deployment_id = $1 AND revision_id IS NULL
         AND details ? 'to' ORDER BY id`,
      [shop.id],
    );
    expect(story.map(({ to }) => to).slice(-4)).toEqual(['UNKNOWN', 'READY', 'UNKNOWN', 'AWAITING_DATABASE']);
  });
});

describe('the cluster of a listener', () => {
  const [ours, theirs] = [{ cluster_id: 'kube-system/one' }, { cluster_id: 'kube-system/two' }];
  const kept = async () => {
    const state = await hub.call<{ cluster_id: string }>(
      'GET',
      `/v2/listeners/${PLATFORM_LISTENER_ID}/lease`,
    );
    return state.body.cluster_id;
  };
  const forget = () => hub.store.sql('UPDATE listeners SET cluster_id = NULL');
  beforeEach(forget);
  afterAll(forget);

  it('is that of the first lease, and another cluster is refused even when the lease is free', async () => {
    const [a, b] = [protocolClient(hub, 'a'), protocolClient(hub, 'b')];
    await a.lease(ours);
    await a.lease({ release: true });
    const refused = await b.lease(theirs);
    expect(refused).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('belongs to another cluster') },
    });
    expect(await kept()).toBe('kube-system/one');
    expect((await b.lease(ours)).status).toBe(200);
  });

  it('is checked at each renewal, so that a listener that reports another cluster later loses the lease', async () => {
    const [a, b] = [protocolClient(hub, 'a'), protocolClient(hub, 'b')];
    await a.lease(ours);
    await a.lease({ release: true });
    expect((await b.lease({ cluster_reachable: false })).status).toBe(200);
    expect((await b.lease(theirs)).status).toBe(409);
  });

  it('is identified by a namespace of the listener until it can report kube-system', async () => {
    const a = protocolClient(hub, 'a');
    await a.lease({ cluster_id: 'team/x' });
    expect((await a.lease({ cluster_id: 'team/y' })).status).toBe(409);
    await a.lease(ours);
    await a.lease();
    expect(await kept()).toBe('kube-system/one');
  });
});

describe('access to a lease', () => {
  const lease = (listenerId?: string) => protocolClient(hub, 'x', listenerId).lease();

  it('is limited to own listeners for a tenant and for the platform, and unlimited for an admin', async () => {
    const { tenantId, scope } = await newTenant(hub.store);
    const { tenantId: otherId } = await newTenant(hub.store);
    const listener = await scope.transaction((transaction) =>
      createListener(transaction, {
        tenantId,
        computeType: 'k8s',
        computeId: 'c1',
        computeConfig: { k8s_namespaces: [] },
      }),
    );
    const answers = async (caller: HubFixture['caller']) => {
      hub.caller = caller;
      await hub.store.sql('UPDATE listeners SET lease_holder = NULL');
      return [(await lease(listener.id)).status, (await lease(PLATFORM_LISTENER_ID)).status];
    };
    expect(await answers({ keyTenantId: tenantId, scopes: ['listeners:run'] })).toEqual([200, 404]);
    expect(await answers({ keyTenantId: otherId, scopes: ['listeners:run'] })).toEqual([404, 404]);
    expect(await answers({ keyTenantId: null, scopes: ['listeners:run'] })).toEqual([404, 200]);
    expect(await answers({ keyTenantId: otherId, scopes: ['admin'] })).toEqual([200, 200]);
  });

  it('returns 404 for an unknown id, and 400 or 422 for an invalid one', async () => {
    expect((await lease('01900000-0000-7000-8000-00000000dead')).status).toBe(404);
    expect((await lease('nonsense')).status).toBeGreaterThanOrEqual(400);
  });
});

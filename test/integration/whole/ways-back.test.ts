/**
 * What the cluster refuses, or never finishes, is taken back by the value before: through the API and, of a resource written
 * by hand, with kubectl. The rows are those of the table in docs/lifecycle.md, "Undo a change that the cluster rejects".
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { appName } from '../../../src/contract/resource/names.ts';
import { waitFor } from '../../cluster/wait.ts';
import {
  type DeploymentAnswer,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../harness/berth.ts';
import { createNamespace, deleteNamespace, kubectlAsAdmin } from '../harness/environment.ts';

const WAIT = { timeoutMs: 120_000, intervalMs: 300 };

let berth: WholeBerth;
let bounded: string;
beforeAll(async () => {
  bounded = await createNamespace('bounded');
  berth = await startWholeBerth('ways-back', {
    moreNamespaces: [bounded],
    settings: { BERTH_ROUTING: 'ingress' },
  });
});
afterAll(async () => {
  await berth?.stop();
  await deleteNamespace(bounded);
});

const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', berth.namespace, ...args]);
const apply = (object: object, namespace = berth.namespace) =>
  kubectlAsAdmin(['-n', namespace, 'apply', '-f', '-'], stringify(object));
const appOf = ({ id, name }: Pick<DeploymentAnswer, 'id' | 'name'>) => appName(name, id);
const sized = (resource_spec: object) => ({ source_config: { resource_spec } });
const patch = (id: string, body: object, query = '') =>
  berth.call<{ detail?: unknown }>('PATCH', `/v2/deployments/${id}${query}`, body);
const found = ({ conditions }: Pick<DeploymentAnswer, 'conditions'>, type: string) =>
  conditions.find((condition) => condition.type === type);
const says = (type: string, reason: string) => (now: DeploymentAnswer) => found(now, type)?.reason === reason;
const explained = async ({ id, latest_revision_id: revision }: DeploymentAnswer) =>
  (
    await berth.call<{ remedy: { reason: string; text: string } | null }>(
      'GET',
      `/v2/deployments/${id}/revisions/${revision}/explain`,
    )
  ).body;

/** PATCH and its dry run answer alike. */
async function answers(id: string, body: object): Promise<{ status: number; text: string }> {
  const tried = await patch(id, body, '?dry_run=true');
  const real = await patch(id, body);
  expect(tried.status).toBe(real.status);
  return { status: real.status, text: JSON.stringify(real.body.detail ?? '') };
}

interface Claim extends UntypedObject {
  spec: { resources: { requests: { storage: string } } };
  status: { capacity: { storage: string } };
}
const claimOf = async (app: string): Promise<Claim> =>
  JSON.parse(await kubectl('get', 'pvc', `${app}-db`, '-o', 'json'));
const requests = (app: string, storage: string) =>
  waitFor(
    `the claim to ask for ${storage}`,
    async () => (await claimOf(app)).spec.resources.requests.storage === storage,
    WAIT,
  );
const hold = (app: string) => kubectl('label', 'pvc', `${app}-db`, 'sim.example/fail=resize');
const has = (app: string, storage: string) =>
  kubectl(
    'patch',
    'pvc',
    `${app}-db`,
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify({ status: { capacity: { storage } } }),
  );

describe.concurrent('an expansion of the database’s volume that does not complete', () => {
  test('can be lowered to any size down to the capacity, and raised again', async () => {
    const made = await berth.create(smallDeployment('grows', sized({ db_storage_gi: 5 })));
    await berth.ready(made.id);
    const app = appOf(made);
    await hold(app);
    expect((await answers(made.id, sized({ db_storage_gi: 20 }))).status).toBe(200);
    await requests(app, '20Gi');
    await berth.until(made.id, 'growing', says('Ready', 'VolumeResizing'));
    const growing = await berth.until(made.id, 'all known', says('DatabaseReady', 'VolumeResizing'));
    expect((await explained(growing)).remedy?.text).toContain('To cancel the expansion, PATCH db_storage_gi');

    expect((await answers(made.id, sized({ db_storage_gi: 10 }))).status).toBe(200);
    await requests(app, '10Gi');
    await berth.until(made.id, 'growing still', says('Ready', 'VolumeResizing'));
    const smaller = await answers(made.id, sized({ db_storage_gi: 4 }));
    expect(smaller).toEqual({ status: 400, text: expect.stringContaining('capacity of the volume is 5 Gi') });

    expect((await answers(made.id, sized({ db_storage_gi: 5 }))).status).toBe(200);
    const back = await berth.ready(made.id);
    expect(found(back, 'DatabaseReady')).toMatchObject({
      reason: 'DatabaseAvailable',
      message: expect.stringMatching(/has the requested 5Gi.*still requests 10Gi/),
    });
    expect((await explained(back)).remedy).toBeNull();
    expect((await claimOf(app)).spec.resources.requests.storage).toBe('10Gi');

    expect((await answers(made.id, sized({ db_storage_gi: 7 }))).status).toBe(200);
    await requests(app, '7Gi');
    await berth.until(made.id, 'growing again', says('Ready', 'VolumeResizing'));
    await kubectl('label', 'pvc', `${app}-db`, 'sim.example/fail-');
    await berth.ready(made.id);
    expect((await claimOf(app)).status.capacity.storage).toBe('7Gi');
    expect((await answers(made.id, sized({ db_storage_gi: 6 }))).status).toBe(400);
  });

  test('can be lowered to what the provider gave, if that is more than the request, also while switched off', async () => {
    const made = await berth.create(smallDeployment('rounds', sized({ db_storage_gi: 5 })));
    await berth.ready(made.id);
    const app = appOf(made);
    await hold(app);
    await has(app, '8Gi');
    await berth.until(
      made.id,
      'the larger volume',
      (now) =>
        found(now, 'DatabaseReady')?.message.includes('its volume has 8Gi, more than the requested 5Gi') ===
        true,
    );
    await patch(made.id, sized({ db_storage_gi: 20 }));
    await requests(app, '20Gi');
    await patch(made.id, sized({ max_scale: 0 }));
    await berth.until(made.id, 'switched off', (now) => now.status === 'UNUSED');
    expect(await answers(made.id, sized({ db_storage_gi: 7 }))).toEqual({
      status: 400,
      text: expect.stringContaining('capacity of the volume is 8 Gi'),
    });
    expect((await answers(made.id, sized({ db_storage_gi: 8 }))).status).toBe(200);
    await patch(made.id, sized({ max_scale: 1 }));
    await berth.ready(made.id);
    expect((await claimOf(app)).spec.resources.requests.storage).toBe('20Gi');
    expect((await answers(made.id, sized({ db_storage_gi: 5 }))).status).toBe(200);
    const back = await berth.ready(made.id);
    expect(found(back, 'DatabaseReady')?.message).toMatch(
      /has 8Gi, more than the requested 5Gi.*still requests 20Gi/,
    );
    expect((await answers(made.id, sized({ db_storage_gi: 4 }))).status).toBe(400);
  });

  test('can be lowered with kubectl for a resource applied by hand, down to the capacity', async () => {
    const hand = (storage: string) =>
      apply({
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'ManagedDeployment',
        metadata: { name: 'by-hand' },
        spec: { revision: { image: 'registry.test/web:1' }, database: { storage } },
      });
    const ready = () => kubectl('wait', '--for=condition=Ready', 'mdep/by-hand', '--timeout=90s');
    const status = async () =>
      JSON.parse(await kubectl('get', 'mdep', 'by-hand', '-o', 'json')).status as DeploymentAnswer & {
        volume?: { capacity?: string };
      };
    await hand('5Gi');
    await waitFor('it', async () => (await ready().catch(() => '')) !== '', WAIT);
    await hold('by-hand');
    await hand('20Gi');
    await requests('by-hand', '20Gi');
    await waitFor('the capacity', async () => (await status()).volume?.capacity === '5Gi', WAIT);
    await hand('10Gi');
    await requests('by-hand', '10Gi');
    await expect(hand('4Gi')).rejects.toThrow('the volume has 5Gi');
    await has('by-hand', '8Gi');
    await waitFor('the larger capacity', async () => (await status()).volume?.capacity === '8Gi', WAIT);
    await expect(hand('5Gi')).rejects.toThrow('the volume has 8Gi');
    await has('by-hand', '5Gi');
    await waitFor('the capacity again', async () => (await status()).volume?.capacity === '5Gi', WAIT);
    await hand('5Gi');
    await waitFor(
      'Ready, and said why',
      async () => {
        const now = await status();
        return (
          found(now, 'Ready')?.status === 'True' &&
          found(now, 'DatabaseReady')?.message.includes('still requests 10Gi') === true
        );
      },
      WAIT,
    );
  });
});

describe('the former size, while the cluster has not reported the new one', () => {
  test('is accepted again, also for a resource applied by hand, until the volume is expanded', async () => {
    const hand = (storage: string) =>
      apply({
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'ManagedDeployment',
        metadata: { name: 'rounded' },
        spec: { revision: { image: 'registry.test/web:1' }, database: { storage } },
      });
    const volume = async () =>
      JSON.parse(await kubectl('get', 'mdep', 'rounded', '-o', 'json')).status?.volume as
        | { capacity?: string; former?: string }
        | undefined;
    await hand('5Gi');
    await waitFor('the volume', async () => (await volume())?.capacity === '5Gi', WAIT);
    await hold('rounded');
    await has('rounded', '8Gi');
    await waitFor('the size before', async () => (await volume())?.former === '5Gi', WAIT);
    await hand('20Gi');
    await hand('5Gi');
    await hand('20Gi');
    await requests('rounded', '20Gi');
    await expect(hand('7Gi')).rejects.toThrow('the volume has 8Gi');
    await hand('5Gi');
    await hand('20Gi');
    await has('rounded', '20Gi');
    await waitFor('the volume', async () => (await volume())?.capacity === '20Gi', WAIT);
    await expect(hand('5Gi')).rejects.toThrow('the volume has 20Gi');
  });
});

/** Rejected values, how they are reported, and the former values. */
interface Row {
  readonly field: string;
  readonly before: () => object;
  readonly refused: () => object;
  readonly reported: (now: DeploymentAnswer) => boolean;
  readonly bounded?: true;
}

const turnedBack = says('Progressing', 'RolledBack');
const host = (name: string) => `https://${name}.${berth.namespace}.example.com`;
const ROWS: readonly Row[] = [
  {
    field: 'service_account_name',
    before: () => sized({ service_account_name: null }),
    refused: () => sized({ service_account_name: 'not-there' }),
    reported: turnedBack,
  },
  {
    field: 'volumes',
    before: () => sized({ volumes: [] }),
    refused: () => sized({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'not-there' } }] }),
    reported: turnedBack,
  },
  {
    field: 'sidecars',
    before: () => sized({ sidecars: [] }),
    refused: () => sized({ sidecars: [{ name: 'side', image: 'registry.test/app:fail-invalid-image' }] }),
    reported: turnedBack,
  },
  {
    field: 'memory_mb',
    before: () => sized({ memory_mb: 512, memory_limit_mb: 512 }),
    refused: () => sized({ memory_mb: 4096, memory_limit_mb: 4096 }),
    reported: turnedBack,
    bounded: true,
  },
  {
    field: 'max_scale',
    before: () => sized({ min_scale: 1, max_scale: 1 }),
    refused: () => sized({ min_scale: 40, max_scale: 40 }),
    reported: (now) => found(now, 'Ready')?.status === 'False',
    bounded: true,
  },
  {
    field: 'custom_url',
    before: () => ({ source_config: { custom_url: host('mine') } }),
    refused: () => ({ source_config: { custom_url: host('taken') } }),
    reported: says('Ready', 'RouteRefused'),
  },
  {
    field: 'image_uri',
    before: () => ({ source_revision_config: { image_uri: 'registry.test/web:1' } }),
    refused: () => ({ source_revision_config: { image_uri: 'registry.test/app:fail-crash-loop' } }),
    reported: turnedBack,
  },
  {
    field: 'cpu',
    before: () => sized({ cpu: 0.1, cpu_limit: 0.2 }),
    refused: () => sized({ cpu: 3, cpu_limit: 3 }),
    reported: turnedBack,
    bounded: true,
  },
];

describe.concurrent('a value that the cluster rejects', () => {
  beforeAll(async () => {
    const limit = { type: 'Container', max: { cpu: '2', memory: '2Gi' } };
    await apply(
      { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'sizes' }, spec: { limits: [limit] } },
      bounded,
    );
    await apply(
      {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'pods' },
        spec: { hard: { pods: '20' } },
      },
      bounded,
    );
    await apply({
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ManagedDeployment',
      metadata: { name: 'first-there' },
      spec: { revision: { image: 'registry.test/web:1' }, routing: { url: host('taken') } },
    });
  });

  test.each(ROWS)('can be reverted to the former value, which converges ($field)', async (row) => {
    const name = `back-${row.field.replaceAll('_', '-')}`;
    const made = await berth.create(
      smallDeployment(
        name,
        row.bounded === true ? { source_config: { listener_config: { cluster_namespace: bounded } } } : {},
      ),
    );
    await berth.ready(made.id);
    expect((await patch(made.id, row.before())).status).toBe(200);
    await berth.ready(made.id);
    expect((await answers(made.id, row.refused())).status).toBe(200);
    await berth.until(made.id, 'reported', row.reported);
    expect(await answers(made.id, row.before())).toMatchObject({ status: 200 });
    const back = await berth.ready(made.id);
    expect(found(back, 'Serving')?.status).toBe('True');
  });
});

describe.concurrent('a volume that only one pod can use', () => {
  const claim = (name: string) =>
    apply({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name },
      spec: {
        storageClassName: 'standard',
        accessModes: ['ReadWriteOncePod'],
        resources: { requests: { storage: '1Gi' } },
      },
    });
  const mounted = (claimName: string) => ({
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
    volume_mounts: [{ name: 'data', mountPath: '/data' }],
  });
  const image = (tag: string) => ({ source_revision_config: { image_uri: `registry.test/${tag}` } });

  test('moves from the old pod to the new one, and back after a failure', async () => {
    await claim('one-pod');
    const made = await berth.create(smallDeployment('exclusive', sized(mounted('one-pod'))));
    await berth.ready(made.id);
    const strategy = async () =>
      JSON.parse(await kubectl('get', 'deployment', `${appOf(made)}-api`, '-o', 'json')).spec.strategy;
    const before = await strategy();
    await patch(made.id, image('web:2'));
    const second = await berth.until(
      made.id,
      'revision 2 active',
      (now) => now.active_revision_id === now.latest_revision_id && found(now, 'Ready')?.status === 'True',
    );
    expect(await strategy()).toEqual(before);
    await patch(made.id, image('app:fail-crash-loop'));
    await berth.until(made.id, 'rolled back', turnedBack);
    const back = await berth.until(
      made.id,
      'revision 2 serving',
      (now) =>
        now.active_revision_id === second.active_revision_id && found(now, 'Serving')?.status === 'True',
    );
    expect(back.latest_revision_id).not.toBe(back.active_revision_id);
    await waitFor(
      'the strategy before',
      async () => JSON.stringify(await strategy()) === JSON.stringify(before),
      WAIT,
    );
    // The conflict was resolved, so it is no trouble.
    const { body } = await berth.call<{ resources: { reason: string }[] }>(
      'GET',
      `/v2/deployments/${made.id}/events?limit=100`,
    );
    expect(body.resources.map(({ reason }) => reason)).not.toContain('Unschedulable');
  });

  test('has a remedy that names its field if two pods request it', async () => {
    await claim('for-two');
    const made = await berth.create(
      smallDeployment('two-users', sized({ ...mounted('for-two'), min_scale: 2, max_scale: 2 })),
    );
    const held = await berth.until(made.id, 'held up', says('Ready', 'Unschedulable'));
    expect((await explained(held)).remedy).toMatchObject({
      reason: 'Unschedulable',
      text: expect.stringMatching(/ReadWriteOncePod.*resource_spec\.volumes\[0\]/),
    });
  });
});

/** Failures and waits are visible to users: in the history, as Kubernetes Events, and in correct states. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { appName } from '../../../../src/contract/resource/names.ts';
import { waitFor } from '../../../cluster/wait.ts';
import {
  type DeploymentAnswer,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../../harness/berth.ts';
import { createNamespace, deleteNamespace, kubectlAsAdmin } from '../../harness/environment.ts';

const WAIT = { timeoutMs: 90_000, intervalMs: 300 };

let berth: WholeBerth;
let narrow: string;
beforeAll(async () => {
  narrow = await createNamespace('narrow');
  berth = await startWholeBerth('troubles', {
    moreNamespaces: [narrow],
    settings: { BERTH_STORAGE_CLASS: 'fixed-size', BERTH_ROUTING: 'ingress', BERTH_TLS_ISSUER: 'letters' },
  });
});
afterAll(async () => {
  await berth?.stop();
  await deleteNamespace(narrow);
});

interface Row {
  reason: string;
  message: string;
  revision_id: string | null;
}

const appOf = ({ id, name }: DeploymentAnswer) => appName(name, id);
const patch = (id: string, body: object) =>
  berth.call<{ detail?: unknown }>('PATCH', `/v2/deployments/${id}`, body);
const sized = (resource_spec: object) => ({ source_config: { resource_spec } });
const image = (tag: string) => ({ source_revision_config: { image_uri: `registry.test/${tag}` } });
const says = (type: string, reason: string) => (deployment: DeploymentAnswer) =>
  deployment.conditions.some((condition) => condition.type === type && condition.reason === reason);
async function rows(id: string, reason: string): Promise<Row[]> {
  const { body } = await berth.call<{ resources: Row[] }>('GET', `/v2/deployments/${id}/events?limit=100`);
  return body.resources.filter((row) => row.reason === reason);
}
async function warnings(deployment: DeploymentAnswer, namespace = berth.namespace): Promise<string[]> {
  const about = `involvedObject.kind=ManagedDeployment,involvedObject.name=${appOf(deployment)},type=Warning`;
  const reported = await kubectlAsAdmin([
    '-n',
    namespace,
    'get',
    'events',
    '--field-selector',
    about,
    '-o',
    'name',
  ]);
  if (reported.trim() === '') return [];
  const reasons = '-o=jsonpath={.items[*].reason}';
  return (await kubectlAsAdmin(['-n', namespace, 'get', 'events', '--field-selector', about, reasons])).split(
    ' ',
  );
}
const states = async (id: string) =>
  (
    await berth.call<{ resources: { status: string }[] }>('GET', `/v2/deployments/${id}/revisions`)
  ).body.resources.map(({ status }) => status);

describe.concurrent('the operator', () => {
  test('records an expansion that the storage class rejects, which blocks no revision and can be reverted', async () => {
    const made = await berth.create(smallDeployment('grows', sized({ db_storage_gi: 5 })));
    await berth.ready(made.id);
    expect((await patch(made.id, sized({ db_storage_gi: 9 }))).status).toBe(200);
    await berth.until(made.id, 'refused', says('Ready', 'VolumeNotExpandable'));
    expect(await rows(made.id, 'VolumeNotExpandable')).toHaveLength(1);
    await patch(made.id, image('web:2'));
    const next = await berth.until(
      made.id,
      'the new revision active',
      (now) => now.active_revision_id === now.latest_revision_id && says('Ready', 'VolumeNotExpandable')(now),
    );
    // Not everything that is wanted is there.
    expect(next).toMatchObject({ status: 'READY', remote_reconciled: false });
    const smaller = await patch(made.id, sized({ db_storage_gi: 4 }));
    expect([smaller.status, JSON.stringify(smaller.body)]).toEqual([
      400,
      expect.stringContaining('must not be less than 5, because a volume cannot shrink, but 4 was requested'),
    ]);
    expect((await patch(made.id, sized({ db_storage_gi: 5 }))).status).toBe(200);
    await berth.ready(made.id);
    expect((await patch(made.id, sized({ db_storage_gi: 4 }))).status).toBe(400);
  });

  test('records a rollout that a quota blocks with a warning while it waits', async () => {
    const made = await berth.create(
      smallDeployment('narrow', { source_config: { listener_config: { cluster_namespace: narrow } } }),
    );
    await berth.ready(made.id);
    await kubectlAsAdmin(['-n', narrow, 'create', 'quota', 'three', '--hard=pods=3']);
    const counted = () =>
      kubectlAsAdmin(['-n', narrow, 'get', 'quota', 'three', '-o=jsonpath={.status.used.pods}']);
    await waitFor('the quota to count', async () => (await counted()) === '3', WAIT);
    await patch(made.id, image('web:2'));
    await berth.until(made.id, 'held up', says('Ready', 'QuotaExceeded'));
    expect(await rows(made.id, 'QuotaExceeded')).toMatchObject([
      { message: expect.stringContaining('exceeded quota'), revision_id: null },
    ]);
    await waitFor('the warning', async () => (await warnings(made, narrow)).includes('QuotaExceeded'), WAIT);
    expect(await states(made.id)).toEqual(['DEPLOYING', 'DEPLOYED']);
  });

  test('records INTERRUPTED, not SKIPPED, for a revision that is switched off during its rollout and replaced', async () => {
    const made = await berth.create(smallDeployment('begun'));
    await berth.ready(made.id);
    await patch(made.id, image('app:fail-never-ready'));
    const became = (status: string) =>
      waitFor(`revision 2 to be ${status}`, async () => (await states(made.id))[0] === status, WAIT);
    await became('DEPLOYING');
    await patch(made.id, sized({ max_scale: 0 }));
    await became('QUEUED');
    await patch(made.id, { ...image('web:3'), ...sized({ max_scale: 1 }) });
    await berth.ready(made.id);
    expect(await states(made.id)).toEqual(['DEPLOYED', 'INTERRUPTED', 'DEPLOYED']);
  });

  test('records a failed change in place with the change', async () => {
    const made = await berth.create(smallDeployment('changed'));
    await berth.ready(made.id);
    await patch(
      made.id,
      sized({ sidecars: [{ name: 'side', image: 'registry.test/app:fail-invalid-image' }] }),
    );
    await berth.until(made.id, 'rolled back', says('Progressing', 'RolledBack'));
    expect(await rows(made.id, 'InvalidImageName')).toMatchObject([
      {
        message: expect.stringMatching(/^A change of revision 1 failed: api: .*container side/),
        revision_id: made.latest_revision_id,
      },
    ]);
  });

  test('keeps the last of many rollouts among the Events', async () => {
    const made = await berth.create(smallDeployment('many'));
    await berth.ready(made.id);
    for (let number = 2; number <= 9; number += 1) {
      await patch(made.id, image(`web:${number}`));
      await berth.ready(made.id);
    }
    await patch(made.id, image('app:fail-invalid-image'));
    await berth.until(made.id, 'rolled back', says('Progressing', 'RolledBack'));
    await waitFor('it', async () => (await warnings(made)).includes('RolloutFailed'), WAIT);
    // Ten rollouts, one after the other.
  }, 300_000);

  test('removes the certificate of a host with the host', async () => {
    const custom_url = 'https://given-up.example.com';
    const made = await berth.create(smallDeployment('given', { source_config: { custom_url } }));
    await berth.ready(made.id);
    const secret = `${appOf(made)}-tls`;
    const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', berth.namespace, ...args]);
    await kubectl('create', 'secret', 'generic', secret, '--from-literal=tls.key=x');
    const notes = [
      `cert-manager.io/certificate-name=${secret}`,
      'cert-manager.io/alt-names=given-up.example.com',
    ];
    await kubectl('annotate', 'secret', secret, ...notes);
    await patch(made.id, { source_config: { custom_url: null } });
    const left = () => kubectl('get', 'secret', secret, '--ignore-not-found', '-o=name');
    await waitFor('the certificate to go', async () => (await left()) === '', WAIT);
    const noted = () => kubectl('get', 'mdep', appOf(made), '-o=jsonpath={.metadata.annotations}');
    await waitFor('the note to go', async () => !(await noted()).includes('former-host'), WAIT);
    expect((await berth.ready(made.id)).status).toBe('READY');
  });
});

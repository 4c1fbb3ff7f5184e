/** Nothing is lost by a restart at any moment; two operators elect one; a stop is graceful. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../cluster/wait.ts';
import { type KubeItem, smallDeployment, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { kubectlAsAdmin } from '../harness/environment.ts';

describe('kill -9', () => {
  let berth: WholeBerth;
  beforeAll(async () => {
    berth = await startWholeBerth('kill');
  });
  afterAll(() => berth?.stop());

  const exists = async (kind: string, id: string) =>
    (await berth.get(kind, '-l', `berth.dev/deployment-id=${id}`)).items.length > 0;

  it.each([
    ['right after the POST', async () => true],
    ['once the custom resource is there', (id: string) => exists('mdep', id)],
    ['once the database exists', (id: string) => exists('statefulset', id)],
    ['once the first Deployment exists', (id: string) => exists('deployments', id)],
  ] as const)(
    '%s lets the deployment become READY after the restart, with each object created once',
    async (when, moment) => {
      const { id } = await berth.create(
        smallDeployment(`killed ${when}`, {
          source_config: { resource_spec: { queue_cpu: 0.1 } },
          secrets: [{ name: 'TOKEN', value: 'x' }],
        }),
      );
      await waitFor('the moment', () => moment(id), { timeoutMs: 30_000, intervalMs: 5 });
      await berth.process().stop('SIGKILL');
      await berth.restart();
      const ready = await berth.ready(id);
      expect(ready.active_revision_id).toBe(ready.latest_revision_id);
      const revisions = await berth.call<{ resources: unknown[] }>('GET', `/v2/deployments/${id}/revisions`);
      expect(revisions.body.resources).toHaveLength(1);
      const secrets = await berth.get(
        'secrets,controllerrevisions.apps,pvc',
        '-l',
        `berth.dev/deployment-id=${id}`,
      );
      const names = secrets.items
        .filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind !== 'StatefulSet')
        // The sentinel of the Secrets (decision 0023) is named after their uids.
        .map(({ kind, metadata }) => `${kind} ${metadata.name.replace(/^.*?-[0-9a-f]{8}-/, '')}`)
        .map((name) => name.replace(/ secrets-[0-9a-f]{8}$/, ' secrets'))
        .sort();
      expect(names).toEqual([
        'ControllerRevision 1',
        'ControllerRevision secrets',
        'PersistentVolumeClaim db',
        'Secret db',
        'Secret db-copy',
        'Secret env-1',
      ]);
    },
  );

  it('lets the new revision become active after the restart when it happens during a rollout', async () => {
    const { id } = await berth.create(smallDeployment('rolling'));
    await berth.ready(id);
    await berth.call('PATCH', `/v2/deployments/${id}`, {
      source_revision_config: { image_uri: 'registry.example/web:2' },
    });
    await waitFor(
      'the new image in the Deployment',
      async () =>
        JSON.stringify(await berth.get('deployments', '-l', `berth.dev/deployment-id=${id}`)).includes(
          'web:2',
        ),
      { timeoutMs: 30_000, intervalMs: 5 },
    );
    await berth.process().stop('SIGKILL');
    await berth.restart();
    await berth.ready(id);
  });
});

describe('several processes', () => {
  let berth: WholeBerth;
  beforeAll(async () => {
    berth = await startWholeBerth('roles', { start: 'none' });
  });
  afterAll(() => berth?.stop());

  const holder = async () => {
    const lease = JSON.parse(
      await kubectlAsAdmin([
        'get',
        'lease',
        'berth-operator',
        '-n',
        berth.settings['BERTH_NAMESPACE'] ?? '',
        '-o',
        'json',
      ]),
    ) as KubeItem;
    return (lease.spec['holderIdentity'] as string | undefined) ?? '';
  };

  it('elect one of two operators as leader; when it stops, the other one takes over and continues', async () => {
    const api = await berth.startRole('all', 'hub');
    // The one that is stopped below leads before there is another.
    const first = await waitFor('a leader', holder, { timeoutMs: 30_000 });
    const second = await berth.startRole('operator', 'second');
    expect(await holder()).toBe(first);
    expect(api.isRunning() && second.isRunning()).toBe(true);
    const stopping = Date.now();
    await api.stop('SIGTERM');
    expect(Date.now() - stopping).toBeLessThan(10_000);
    const next = await waitFor(
      'another leader',
      async () => {
        const now = await holder();
        return now !== '' && now !== first ? now : undefined;
      },
      { timeoutMs: 30_000 },
    );
    expect(next).not.toBe(first);
    await berth.restart();
    const { id } = await berth.create(smallDeployment('after-takeover'));
    await berth.ready(id);
    expect(await holder()).toBe(next);
  });
});

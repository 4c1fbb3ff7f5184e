/**
 * How many pods run is the scale's matter alone: it changes no template, and no pod goes that need not. Pods and
 * spec.replicas are counted by watches, at every moment.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { waitFor } from '../../cluster/wait.ts';
import {
  type DeploymentAnswer,
  type KubeItem,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../harness/berth.ts';
import { type Course, History } from '../harness/history.ts';
import { adminClient } from '../harness/rollouts.ts';

let berth: WholeBerth;
let client: KubeClient;
let history: History;
beforeAll(async () => {
  berth = await startWholeBerth('scaling');
  client = await adminClient();
  history = await History.start(client, berth.namespace);
});
afterAll(async () => {
  await history?.stop();
  await client?.close();
  await berth?.stop();
});

const path = (id: string, rest = '') => `/v2/deployments/${id}${rest}`;
class Scaled {
  readonly id: string;
  readonly app: string;
  readonly course: Course;

  constructor(id: string, name: string) {
    this.id = id;
    this.app = `${name}-${id.replaceAll('-', '').slice(-8)}`;
    this.course = history.of(id);
  }

  static async start(name: string, spec: object): Promise<Scaled> {
    const { id } = await berth.create(smallDeployment(name, { source_config: { resource_spec: spec } }));
    const made = new Scaled(id, name);
    await made.ready();
    made.course.mark();
    return made;
  }

  async patch(body: object): Promise<DeploymentAnswer> {
    const answer = await berth.call('PATCH', path(this.id), body);
    expect([answer.status, answer.body]).toMatchObject([200, {}]);
    return answer.body;
  }

  scale(spec: object): Promise<DeploymentAnswer> {
    return this.patch({ source_config: { resource_spec: spec } });
  }

  image(tag: string): Promise<DeploymentAnswer> {
    return this.patch({ source_revision_config: { image_uri: `registry.example/shop/web:${tag}` } });
  }

  /** Until the hub says so, and the watch here has seen what the hub, by a watch of its own, may know before. */
  async ready(): Promise<DeploymentAnswer> {
    const answer = await berth.ready(this.id);
    await this.course.until(({ activeRevision }) => activeRevision?.id === answer.active_revision_id);
    return answer;
  }

  /** Changes the scale and waits until all is as it is wanted. */
  async scaled(spec: object): Promise<void> {
    await this.scale(spec);
    await this.ready();
  }

  /** Switches the whole off and waits until nothing runs. */
  async off(): Promise<DeploymentAnswer> {
    await this.scale({ max_scale: 0 });
    return berth.until(this.id, 'off', ({ status }) => status === 'UNUSED');
  }

  /** As an autoscaler writes it. */
  async choose(replicas: number, component = 'api'): Promise<void> {
    await client.patch(
      RESOURCES.Deployment,
      { namespace: berth.namespace, name: `${this.app}-${component}` },
      { spec: { replicas } },
      { fieldManager: 'kube-controller-manager', subresource: 'scale' },
    );
  }

  /** Until so many pods of a component are there and ready. */
  async pods(count: number, component = 'api'): Promise<void> {
    await waitFor(
      `${count} ${component} pods of ${this.app}`,
      async () => this.course.ready(component) === count && this.course.present(component).length === count,
      { timeoutMs: 60_000, intervalMs: 50 },
    );
  }

  uids(component = 'api'): string[] {
    return this.course.present(component).map(({ uid }) => uid);
  }

  /** How many pods each component ever had. */
  ever(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { component } of this.course.pods.values()) counts[component] = (counts[component] ?? 0) + 1;
    return counts;
  }

  async objects(kind: 'hpa' | 'pdb' | 'pvc' | 'pods'): Promise<KubeItem[]> {
    const { items } = await berth.get(kind, '-l', `berth.dev/deployment-id=${this.id}`);
    return items;
  }

  async names(kind: 'hpa' | 'pdb' | 'pods'): Promise<string[]> {
    return (await this.objects(kind)).map(({ metadata }) => metadata.name.replace(`${this.app}-`, '')).sort();
  }

  /** ReplicaSets, old ones included: as many as templates ever ran. */
  async replicaSets(component = 'api'): Promise<number> {
    const labelSelector = `berth.dev/deployment-id=${this.id},app.kubernetes.io/component=${component}`;
    const { namespace } = berth;
    return (await client.listAll(RESOURCES.ReplicaSet, { namespace, labelSelector })).items.length;
  }

  async revisions(): Promise<{ number: number; status: string }[]> {
    const answer = await berth.call<{ resources: { number: number; status: string }[] }>(
      'GET',
      path(this.id, '/revisions'),
    );
    return answer.body.resources.map(({ number, status }) => ({ number, status })).reverse();
  }

  templates(): string | undefined {
    return this.course.statuses.at(-1)?.activeRevision?.templates;
  }
}

const fixed = (count: number) => ({ min_scale: count, max_scale: count });
const between = (min: number, max: number) => ({ min_scale: min, max_scale: max });

/** Many steps each, side by side: on a busy machine they take minutes. */
const PATIENT = { timeout: 300_000 };

describe.concurrent('a change of scale alone', PATIENT, () => {
  test('keeps the remaining pods and adapts the disruption budget for 1 → 3 → 1', async () => {
    const shop = await Scaled.start('fixed', fixed(1));
    const [first] = shop.uids();
    await shop.scaled(fixed(3));
    expect([shop.uids()[0], shop.uids().length, shop.course.fewest('api')]).toEqual([first, 3, 1]);
    expect(await shop.names('pdb')).toEqual(['api']);
    const three = shop.uids();
    await shop.scaled(fixed(1));
    expect(shop.uids().filter((uid) => three.includes(uid))).toHaveLength(1);
    expect(shop.course.fewest('api')).toBe(1);
    expect([await shop.names('pdb'), shop.ever()['api'], await shop.replicaSets()]).toEqual([[], 3, 1]);
    expect(shop.course.replicas('api')).toEqual([1, 3, 1]);
    expect(shop.course.rolled).toEqual([1]);
  });

  test('never reverts the replicas of the autoscaler for fixed → autoscaled → fixed and back', async () => {
    const shop = await Scaled.start('auto', fixed(2));
    await shop.scaled(between(2, 6));
    expect(await shop.names('hpa')).toEqual(['api']);
    for (const count of [4, 5, 3]) {
      await shop.choose(count);
      // Changes of all else meanwhile: of the range, of what pods are, of the objects.
      await shop.scale({ max_scale: count + 4 });
      if (count === 5) await shop.image('2.0.0');
      await shop.pods(count);
      await shop.ready();
    }
    expect(shop.course.replicas('api')).toEqual([2, 4, 5, 3]);
    expect(shop.course.fewest('api')).toBe(2);
    shop.course.mark();
    const kept = shop.uids();
    await shop.scaled(fixed(3));
    expect([await shop.names('hpa'), shop.uids()]).toEqual([[], kept]);
    await shop.scaled(between(1, 5));
    await shop.choose(4);
    await shop.pods(4);
    await shop.scaled(fixed(2));
    expect(shop.course.replicas('api')).toEqual([3, 4, 2]);
    expect(shop.course.fewest('api')).toBe(2);
    expect(await shop.replicaSets()).toBe(2);
  });

  test('keeps the replicas of the autoscaler while a revision rolls and fails', async () => {
    const shop = await Scaled.start('choose', between(2, 8));
    await shop.image('slow-3s');
    await shop.course.until(({ rollout }) => rollout?.number === 2);
    await shop.choose(4);
    await shop.ready();
    await shop.image('fail-invalid-image');
    await shop.course.until(({ rollout }) => rollout?.number === 3);
    await shop.choose(5);
    await berth.until(shop.id, 'rolled back', ({ conditions }) =>
      conditions.some(({ type, reason }) => type === 'Progressing' && reason === 'RolledBack'),
    );
    await shop.pods(5);
    expect(shop.course.replicas('api')).toEqual([2, 4, 5]);
    expect(shop.course.fewest('api')).toBe(2);
  });

  test('gives the revision the new number during a rollout, and never runs fewer pods than both numbers', async () => {
    const shop = await Scaled.start('during', fixed(2));
    await shop.image('slow-3s');
    await shop.course.until(({ rollout }) => rollout?.number === 2);
    await shop.scale(fixed(4));
    await shop.ready();
    expect([shop.uids().length, shop.course.fewest('api')]).toEqual([4, 2]);
    await shop.image('slow-3s.2');
    await shop.course.until(({ rollout }) => rollout?.number === 3);
    await shop.scale(fixed(3));
    await shop.ready();
    expect([shop.uids().length, shop.course.fewest('api')]).toEqual([3, 2]);
    expect((await shop.revisions()).map(({ status }) => status)).toEqual([
      'DEPLOYED',
      'DEPLOYED',
      'DEPLOYED',
    ]);
  });

  test('rolls the pods, as the dry run says, and keeps their number when it redistributes the connections', async () => {
    const shop = await Scaled.start('pool', { ...fixed(2), db_max_connections: 60 });
    const ask = async (spec: object) => {
      const url = path(shop.id, '?dry_run=true');
      const body = { source_config: { resource_spec: spec } };
      return (await berth.call<{ pods_roll: boolean; new_revision: boolean }>('PATCH', url, body)).body;
    };
    expect(await ask({ ...fixed(4) })).toMatchObject({ pods_roll: true, new_revision: false });
    const before = shop.uids();
    await shop.scaled(fixed(4));
    expect(shop.uids().filter((uid) => before.includes(uid))).toEqual([]);
    expect([shop.uids().length, shop.course.fewest('api')]).toEqual([4, 2]);
    shop.course.mark();
    // Restored: the former templates under their own name.
    await shop.scaled(fixed(2));
    expect([shop.uids().length, shop.course.fewest('api'), await shop.replicaSets()]).toEqual([2, 2, 2]);
    expect(shop.templates()).toBe(`${shop.app}-1`);
    expect(await ask({ ...between(1, 2) })).toMatchObject({ pods_roll: false, new_revision: false });
    expect(await shop.revisions()).toEqual([{ number: 1, status: 'DEPLOYED' }]);
  });
});

describe.concurrent('switching off and on', PATIENT, () => {
  const WHOLE = { queue_cpu: 1, orchestrator_cpu: 1, executor_cpu: 1 };

  test('leaves no pod and keeps the data, then runs the same revision from the same templates, each pod once', async () => {
    // Connections of so many pods: with none, the database would have fewer.
    const shop = await Scaled.start('whole', { ...between(2, 10), ...WHOLE });
    const volume = (await shop.objects('pvc')).map(({ metadata }) => metadata.uid);
    const templates = shop.templates();
    const before = await shop.ready();
    const once = { api: 2, queue: 2, orchestrator: 1, executor: 1, database: 1, cache: 1 };
    const { queue: _, ...exact } = once;
    expect(shop.ever()).toMatchObject(exact);
    const ever = shop.ever();
    const off = await shop.off();
    expect(await shop.names('pods')).toEqual([]);
    expect([await shop.names('hpa'), await shop.names('pdb')]).toEqual([[], []]);
    expect((await shop.objects('pvc')).map(({ metadata }) => metadata.uid)).toEqual(volume);
    expect(off.active_revision_id).toBe(before.active_revision_id);
    // Nothing was restarted on the way down.
    expect(shop.ever()).toEqual(ever);
    await shop.scaled(between(2, 10));
    expect((await shop.ready()).active_revision_id).toBe(before.active_revision_id);
    expect(shop.templates()).toBe(templates);
    expect((await shop.objects('pvc')).map(({ metadata }) => metadata.uid)).toEqual(volume);
    expect(await shop.names('hpa')).toContain('api');
    const twice = Object.fromEntries(Object.entries(ever).map(([name, count]) => [name, 2 * count]));
    expect(shop.ever()).toEqual(twice);
    expect(await shop.replicaSets()).toBe(1);
    expect(await shop.revisions()).toEqual([{ number: 1, status: 'DEPLOYED' }]);
  });

  test('changes no other component and no data service when it affects queue and orchestrator', async () => {
    // With all of them on, and with the fewest, the database allows a hundred connections.
    const on = {
      queue_min_scale: 2,
      queue_max_scale: 2,
      orchestrator_min_scale: 1,
      orchestrator_max_scale: 2,
    };
    const shop = await Scaled.start('parts', { ...fixed(1), ...on });
    const others = ['api', 'database', 'cache'] as const;
    const stay = () => others.map((component) => shop.uids(component));
    const before = stay();
    expect([await shop.names('hpa'), await shop.names('pdb')]).toEqual([['orchestrator'], ['queue']]);
    await shop.scaled({
      queue_max_scale: 0,
      queue_min_scale: 0,
      orchestrator_max_scale: 0,
      orchestrator_min_scale: 0,
    });
    expect([shop.uids('queue'), shop.uids('orchestrator')]).toEqual([[], []]);
    expect([await shop.names('hpa'), await shop.names('pdb')]).toEqual([[], []]);
    await shop.scaled(on);
    expect([shop.uids('queue').length, shop.uids('orchestrator').length]).toEqual([2, 1]);
    expect([await shop.names('hpa'), await shop.names('pdb')]).toEqual([['orchestrator'], ['queue']]);
    expect(stay()).toEqual(before);
    expect(others.map((component) => shop.course.fewest(component))).toEqual([1, 1, 1]);
    expect([await shop.replicaSets('queue'), await shop.replicaSets('orchestrator')]).toEqual([1, 1]);
    expect(await shop.revisions()).toEqual([{ number: 1, status: 'DEPLOYED' }]);
  });

  test('lets revisions that are created meanwhile wait, and runs only the last one', async () => {
    const shop = await Scaled.start('waits', fixed(2));
    await shop.off();
    const ever = shop.ever();
    await shop.image('2.0.0');
    await shop.image('3.0.0');
    const queued = [
      { number: 1, status: 'DEPLOYED' },
      { number: 2, status: 'SKIPPED' },
      { number: 3, status: 'QUEUED' },
    ];
    const seen = async () => JSON.stringify(await shop.revisions()) === JSON.stringify(queued);
    await waitFor('the last revision to be queued', seen, { timeoutMs: 60_000, intervalMs: 100 });
    expect([await shop.names('pods'), shop.ever()]).toEqual([[], ever]);
    await shop.scaled(fixed(2));
    expect(await shop.revisions()).toMatchObject([{}, {}, { number: 3, status: 'DEPLOYED' }]);
    expect(shop.ever()).toEqual({ api: 4, database: 2, cache: 2 });
    expect(shop.course.active).toEqual([1, 3]);
  });

  test('lets a revision that was rolling wait, and rolls it out when it is switched on', async () => {
    const shop = await Scaled.start('rolling', fixed(2));
    await shop.image('slow-3s');
    await shop.course.until(({ rollout }) => rollout?.number === 2);
    await shop.off();
    expect(await shop.names('pods')).toEqual([]);
    expect((await shop.revisions())[1]).toEqual({ number: 2, status: 'QUEUED' });
    const ever = shop.ever();
    await shop.scaled(fixed(2));
    expect(shop.course.active).toEqual([1, 2]);
    expect(shop.ever()['api']).toBe((ever['api'] ?? 0) + 2);
    expect((await shop.revisions())[1]).toEqual({ number: 2, status: 'DEPLOYED' });
  });
});

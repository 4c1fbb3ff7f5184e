/** Metrics of operator and listener: queues, reconciles, calls and caches. */
import { describe, expect, it } from 'vitest';
import type { ReflectorStats } from '../../../src/cluster/kube/cache/reflector-options.ts';
import { KubeError } from '../../../src/cluster/kube/client/errors.ts';
import { WorkQueue } from '../../../src/cluster/kube/queue/work-queue.ts';
import { OPERATOR_LEASE } from '../../../src/contract/resource/names.ts';
import { createMetrics } from '../../../src/metrics/metrics.ts';
import { FakeClock } from '../cluster/kube/support.ts';

const make = () => createMetrics({ version: '1', role: 'all' });

describe('operator and listener of one process', () => {
  it('share metrics and differ by label', async () => {
    const metrics = make();
    const cluster = metrics.cluster();
    expect(metrics.cluster()).toBe(cluster);
    const clock = new FakeClock();
    const queue = new WorkQueue({ clock });
    cluster.queue('manageddeployment', queue);
    queue.add('a');
    queue.addRateLimited('b', 60_000);
    cluster.leading('operator', true);
    cluster.leading('listener', false);
    const stats: ReflectorStats = {
      objects: 5,
      lists: 2,
      watchRestarts: 3,
      restarts: { ended: 2, gone: 1 },
      errors: 1,
      events: 9,
      handlerErrors: 0,
      since: new Date(1_700_000_000_000),
      lastEventAt: new Date(1_700_000_600_000),
      lastError: 'away',
    };
    const older = { ...stats, lastEventAt: new Date(1_700_000_540_000), lastError: undefined };
    cluster.watches('operator', () => [
      { kind: 'Pod', stats },
      { kind: 'Pod', stats: older },
    ]);
    const lines = (await metrics.registry.metrics()).split('\n');
    for (const line of [
      'workqueue_depth{name="manageddeployment"} 1',
      'berth_workqueue_delayed{name="manageddeployment"} 1',
      'berth_reconcile_failing_keys{controller="manageddeployment"} 1',
      'leader_election_master_status{name="berth-operator"} 1',
      'leader_election_master_status{name="berth-listener"} 0',
      'berth_watch_objects{role="operator",kind="Pod"} 10',
      'berth_watch_failing{role="operator",kind="Pod"} 1',
      'berth_watch_restarts_total{role="operator",kind="Pod",cause="gone"} 2',
      'berth_watch_last_event_timestamp_seconds{role="operator",kind="Pod"} 1700000540',
    ])
      expect(lines).toContain(line);
    expect(OPERATOR_LEASE).toBe('berth-operator');
    queue.shutdown();
  });

  it('count reconciles by the results of controller-runtime', async () => {
    const metrics = make();
    const count = metrics.cluster().reconciles('manageddeployment');
    const conflict = new KubeError({ kind: 'conflict', message: 'changed' });
    for (const outcome of [
      { kind: 'settled' },
      { kind: 'settled' },
      { kind: 'requeue', afterMs: 10 },
      { kind: 'retry', error: conflict },
      { kind: 'retry', error: new Error('bug') },
      { kind: 'terminal', error: new Error('invalid') },
    ] as const)
      count({ outcome, durationMs: 20 });
    const lines = (await metrics.registry.metrics()).split('\n');
    const labels = 'controller="manageddeployment"';
    for (const line of [
      `controller_runtime_reconcile_total{${labels},result="success"} 2`,
      `controller_runtime_reconcile_total{${labels},result="requeue_after"} 1`,
      `controller_runtime_reconcile_total{${labels},result="requeue"} 1`,
      `controller_runtime_reconcile_total{${labels},result="error"} 2`,
      `controller_runtime_reconcile_errors_total{${labels}} 2`,
      `controller_runtime_terminal_reconcile_errors_total{${labels}} 1`,
      `controller_runtime_reconcile_time_seconds_count{${labels}} 6`,
    ])
      expect(lines).toContain(line);
  });

  it('count calls to the API server by code, method and host, without a response as <error>', async () => {
    const metrics = make();
    const cluster = metrics.cluster();
    const call = {
      host: '10.0.0.1:6443',
      path: '/api/v1/pods',
      resource: 'pods',
      dryRun: false,
      durationMs: 20,
    };
    cluster.requests('operator')({ ...call, method: 'GET', verb: 'list', status: 200 });
    cluster.requests('listener')({ ...call, method: 'GET', verb: 'watch', status: 200 });
    cluster.requests('operator')({ ...call, method: 'PATCH', verb: 'apply', status: 0 });
    const lines = (await metrics.registry.metrics()).split('\n');
    for (const line of [
      'rest_client_requests_total{code="200",method="GET",host="10.0.0.1:6443"} 2',
      'rest_client_requests_total{code="<error>",method="PATCH",host="10.0.0.1:6443"} 1',
      'berth_kube_request_duration_seconds_count{role="listener",verb="watch"} 1',
    ])
      expect(lines).toContain(line);
  });
});

describe('metrics of queues and watches', () => {
  const stats = (heardSecondsAgo: number | null): ReflectorStats => ({
    objects: 5,
    lists: 1,
    watchRestarts: 0,
    restarts: { ended: 1 },
    errors: 0,
    events: 0,
    handlerErrors: 0,
    since: new Date(Date.now() - 400_000),
    lastEventAt: heardSecondsAgo === null ? undefined : new Date(Date.now() - heardSecondsAgo * 1000),
    lastError: undefined,
  });

  it('measure waits and work of each key, and keep counting in the next term', async () => {
    const metrics = make();
    const cluster = metrics.cluster();
    for (const worked of [2_000, 4_000]) {
      const clock = new FakeClock();
      const queue = new WorkQueue({ clock });
      cluster.leading('operator', true);
      cluster.queue('build', queue);
      queue.add('a');
      clock.advance(500);
      expect(await queue.get()).toBe('a');
      clock.advance(worked);
      queue.addRateLimited('a');
      queue.done('a');
      cluster.leading('operator', false);
    }
    const lines = (await metrics.registry.metrics()).split('\n');
    for (const line of [
      'workqueue_adds_total{name="build"} 2',
      'workqueue_retries_total{name="build"} 2',
      'workqueue_queue_duration_seconds_sum{name="build"} 1',
      'workqueue_work_duration_seconds_sum{name="build"} 6',
      'workqueue_work_duration_seconds_count{name="build"} 2',
    ])
      expect(lines).toContain(line);
  });

  it('show the work in progress when workers have keys', async () => {
    const metrics = make();
    const clock = new FakeClock();
    const queue = new WorkQueue({ clock });
    metrics.cluster().queue('work', queue);
    for (const key of ['a', 'b']) {
      queue.add(key);
      await queue.get();
      clock.advance(2_000);
    }
    const lines = (await metrics.registry.metrics()).split('\n');
    for (const line of [
      'workqueue_unfinished_work_seconds{name="work"} 6',
      'workqueue_longest_running_processor_seconds{name="work"} 4',
      'controller_runtime_active_workers{controller="work"} 2',
    ])
      expect(lines).toContain(line);
  });

  it('show since when the oldest key waits, and nothing when no key waits', async () => {
    const metrics = make();
    const clock = new FakeClock();
    const queue = new WorkQueue({ clock });
    metrics.cluster().queue('work', queue);
    expect(await metrics.registry.metrics()).not.toMatch(/^berth_workqueue_oldest_timestamp_seconds\{/m);
    queue.add('a');
    clock.advance(90_000);
    queue.add('b');
    const text = await metrics.registry.metrics();
    const [, since] = /^berth_workqueue_oldest_timestamp_seconds\{name="work"\} (.*)$/m.exec(text) ?? [];
    expect(Math.abs(Date.now() / 1000 - 90 - Number(since))).toBeLessThan(30);
  });

  it('disappear with the term of their role, stay for the other role, and return with the next term', async () => {
    const metrics = make();
    const cluster = metrics.cluster();
    const queue = new WorkQueue();
    cluster.leading('operator', true);
    cluster.queue('manageddeployment', queue);
    cluster.queue('build', queue);
    cluster.watches('operator', () => [{ kind: 'Pod', stats: stats(30) }]);
    cluster.queue('work', queue);
    cluster.watches('listener', () => [{ kind: 'Pod', stats: stats(30) }]);
    cluster.leading('listener', true);
    cluster.leading('operator', false);
    const standby = await metrics.registry.metrics();
    expect(standby).toMatch(/^leader_election_master_status\{name="berth-operator"\} 0$/m);
    expect(standby).not.toMatch(/^berth_watch_.*role="operator"/m);
    expect(standby).not.toMatch(
      /^(workqueue_depth|berth_workqueue_\w+|berth_reconcile_failing_keys)\{(name|controller)="(manageddeployment|build)"\}/m,
    );
    expect(standby).toMatch(/^berth_watch_last_event_timestamp_seconds\{role="listener",kind="Pod"\} /m);
    expect(standby).toMatch(/^workqueue_depth\{name="work"\} 0$/m);
    cluster.leading('operator', true);
    cluster.watches('operator', () => [{ kind: 'Pod', stats: stats(30) }]);
    expect(await metrics.registry.metrics()).toMatch(
      /^berth_watch_objects\{role="operator",kind="Pod"\} 5$/m,
    );
    queue.shutdown();
  });

  it('use the creation time of a cache that was never filled, also with a filled cache of its kind', async () => {
    const metrics = make();
    const empty = stats(null);
    metrics.cluster().watches('operator', () => [
      { kind: 'Pod', stats: empty },
      { kind: 'Pod', stats: stats(3) },
    ]);
    const text = await metrics.registry.metrics();
    const [, at] =
      /^berth_watch_last_event_timestamp_seconds\{role="operator",kind="Pod"\} (.*)$/m.exec(text) ?? [];
    expect(Number(at)).toBe(empty.since.getTime() / 1000);
  });
});

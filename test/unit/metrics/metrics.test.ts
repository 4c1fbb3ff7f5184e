import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeMetrics } from '../../../scripts/metrics-doc.ts';
import type { ReflectorStats } from '../../../src/cluster/kube/cache/reflector-options.ts';
import { KubeError } from '../../../src/cluster/kube/client/errors.ts';
import { WorkQueue } from '../../../src/cluster/kube/queue/work-queue.ts';
import { FAILURE_RULES } from '../../../src/cluster/operator/rollout/failure-rules.ts';
import { OPERATOR_LEASE } from '../../../src/contract/resource/names.ts';
import { BUILD_ENDS, type ProgressMeasure, ROLLOUT_ENDS } from '../../../src/domain/revision/progress.ts';
import type { Fleet } from '../../../src/hub/store/deployments/fleet.ts';
import { createMetrics } from '../../../src/metrics/metrics.ts';
import { FakeClock } from '../cluster/kube/support.ts';

const make = () => createMetrics({ version: '1', role: 'all' });

const FLEET: Fleet = {
  deployments: { AWAITING_DELETE: 0, UNKNOWN: 2, UNUSED: 0, AWAITING_DATABASE: 0, READY: 3 },
  due: { platform: { count: 1, oldestAt: 1_700_000_007.5 }, tenant: { count: 4, oldestAt: 1_700_000_900 } },
  rolled: { deployments: { deployed: 8, failed: 2 }, tenants: { deployed: 3, failed: 1 } },
  unreconciled: 1,
  branches: { count: 0, oldestAt: null },
  listeners: [{ owner: 'platform', status: 'LOST', count: 1 }],
  pulses: [
    { id: 'known', lastSeenAt: 1_700_000_100, leaseExpiresAt: 1_700_000_130 },
    { id: 'never', lastSeenAt: null, leaseExpiresAt: null },
  ],
};
const POOL = { max: 10, total: 4, idle: 3, waiting: 2 };

/** Names that dashboards of Kubernetes controllers and of HTTP services know, with their labels. */
const STANDARD: Readonly<Record<string, readonly string[]>> = {
  controller_runtime_active_workers: ['controller'],
  controller_runtime_reconcile_errors_total: ['controller'],
  controller_runtime_reconcile_time_seconds: ['controller'],
  controller_runtime_reconcile_total: ['controller', 'result'],
  controller_runtime_terminal_reconcile_errors_total: ['controller'],
  http_request_duration_seconds: ['method', 'route', 'status_code'],
  leader_election_master_status: ['name'],
  rest_client_requests_total: ['code', 'method', 'host'],
  workqueue_adds_total: ['name'],
  workqueue_depth: ['name'],
  workqueue_queue_duration_seconds: ['name'],
  workqueue_retries_total: ['name'],
  workqueue_work_duration_seconds: ['name'],
};

describe('metric names', () => {
  const own = describeMetrics().filter(({ name }) => !/^(process|nodejs)_/.test(name));

  it('start with berth_, except for the standard names, which have their standard labels', () => {
    const others = own.filter(({ name }) => !name.startsWith('berth_'));
    expect(Object.fromEntries(others.map(({ name, labels }) => [name, labels]))).toEqual(STANDARD);
  });

  it('follow the conventions of Prometheus: units at the end, and _total only for counters', () => {
    expect(own.length).toBeGreaterThan(45);
    for (const { name, kind, help, labels } of own) {
      expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
      expect(name.endsWith('_total'), name).toBe(kind === 'counter');
      if (kind === 'histogram') expect(name).toMatch(/_seconds$/);
      // An age or a countdown would only be right at the time of the scrape.
      if (kind === 'gauge' && name.endsWith('_seconds')) expect(name).toMatch(/_timestamp_seconds$/);
      expect(help, name).toMatch(/^[A-Z1].*[.:)]?.*\.$/s);
      const isBerths = name.startsWith('berth_') && !name.startsWith('berth_workqueue_');
      expect(
        labels.filter(
          (label) => /tenant|deployment|revision|namespace/.test(label) || (isBerths && label === 'name'),
        ),
        name,
      ).toEqual([]);
    }
  });
});

describe('the table of renamed metrics', () => {
  const page = readFileSync(new URL('../../../docs/install.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(berth_\w+)[^|]*\| (.*) \|$/gm)];
  const names = new Set(describeMetrics().map(({ name }) => name));
  const STANDARD_OR_OWN = /\b(berth|workqueue|controller_runtime|rest_client|leader_election|http)_[a-z_]+/g;
  const familyOf = (name: string) => name.replace(/_(bucket|sum|count)$/, '');

  it('has new names that exist and old names that do not', () => {
    expect(rows.length).toBeGreaterThan(15);
    for (const [, before = '', now = ''] of rows) {
      expect(names, before).not.toContain(familyOf(before));
      const metrics = now.match(STANDARD_OR_OWN) ?? [];
      expect(metrics.length, before).toBeGreaterThan(0);
      for (const name of metrics) expect(names, before).toContain(familyOf(name));
    }
  });
});

describe('the collection on a scrape', () => {
  it('queries the database once for two scrapes, and exports all values', async () => {
    const metrics = make();
    let queries = 0;
    const fleet = async () => {
      queries += 1;
      return FLEET;
    };
    metrics.hub().database({ fleet, pool: () => POOL });
    await metrics.registry.metrics();
    const text = await metrics.registry.metrics();
    expect(queries).toBe(1);
    for (const line of [
      'berth_deployments{status="UNKNOWN"} 2',
      'berth_deployments{status="READY"} 3',
      'berth_work_due{owner="platform"} 1',
      'berth_work_due{owner="tenant"} 4',
      'berth_work_due_oldest_timestamp_seconds{owner="platform"} 1700000007.5',
      'berth_work_due_oldest_timestamp_seconds{owner="tenant"} 1700000900',
      'berth_deployments_rolled{result="failed"} 2',
      'berth_tenants_rolled{result="deployed"} 3',
      'berth_listeners{owner="platform",status="LOST"} 1',
      'berth_listener_last_seen_timestamp_seconds{listener="known"} 1700000100',
      'berth_listener_lease_expiry_timestamp_seconds{listener="known"} 1700000130',
      'berth_branch_polls_due 0',
      'berth_database_connections{state="busy"} 1',
      'berth_database_waiting 2',
    ])
      expect(text.split('\n')).toContain(line);
    expect(text).not.toContain('never');
    expect(text).not.toMatch(/^berth_branch_polls_due_oldest_timestamp_seconds /m);
  });

  it('exports no database value while the database does not respond, queries again, and exports the others', async () => {
    const metrics = make();
    let answers = false;
    const fleet = async () => {
      if (!answers) throw new Error('away');
      return FLEET;
    };
    metrics.hub().database({ fleet, pool: () => POOL });
    const without = await metrics.registry.metrics();
    expect(without).not.toMatch(/^berth_(work_due|deployments|listeners)\b.* /m);
    expect(without).toMatch(/^berth_database_waiting 2$/m);
    answers = true;
    expect(await metrics.registry.metrics()).toMatch(/^berth_work_due\{owner="platform"\} 1$/m);
  });
});

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

describe('counters of finished rollouts and builds', () => {
  const series = (text: string, name: string) =>
    new Map(
      [...text.matchAll(new RegExp(`^${name}(\\{.*\\}) (\\d+)$`, 'gm'))].map(([, labels, value]) => [
        labels,
        value,
      ]),
    );

  it('start at 0 for every result with every reason that the operator reports', async () => {
    const text = await (() => {
      const metrics = make();
      metrics.hub();
      return metrics.registry.metrics();
    })();
    for (const [name, ends] of [
      ['berth_rollouts_total', ROLLOUT_ENDS],
      ['berth_builds_total', BUILD_ENDS],
    ] as const) {
      const expected = Object.entries(ends).flatMap(([result, reasons]) =>
        reasons.map((reason) => [`{result="${result}",reason="${reason}"}`, '0'] as const),
      );
      expect(series(text, name)).toEqual(new Map(expected));
    }
    for (const { reason } of FAILURE_RULES) expect(ROLLOUT_ENDS.failed).toContain(reason);
  });

  it('count each end, and measure its duration when it is known', async () => {
    const metrics = make();
    const { progressed } = metrics.hub().observer;
    const measures: ProgressMeasure[] = [
      { kind: 'rollout', result: 'failed', reason: 'CrashLoop', built: true, seconds: 7 },
      { kind: 'build', result: 'failed', reason: 'BuildLost', seconds: null },
      { kind: 'build', result: 'succeeded', reason: 'ImageBuilt', seconds: 30 },
      { kind: 'ready', seconds: 4 },
    ];
    for (const measure of measures) progressed(measure);
    const lines = (await metrics.registry.metrics()).split('\n');
    for (const line of [
      'berth_rollouts_total{result="failed",reason="CrashLoop"} 1',
      'berth_rollout_duration_seconds_sum{result="failed",built="true"} 7',
      'berth_builds_total{result="failed",reason="BuildLost"} 1',
      'berth_builds_total{result="succeeded",reason="ImageBuilt"} 1',
      'berth_build_duration_seconds_count{result="succeeded"} 1',
      'berth_deployment_ready_seconds_sum 4',
    ])
      expect(lines).toContain(line);
    expect(lines.join('\n')).not.toContain('berth_build_duration_seconds_count{result="failed"}');
  });
});

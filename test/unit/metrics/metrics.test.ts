import { describe, expect, it } from 'vitest';
import { describeMetrics } from '../../../scripts/metrics-doc.ts';
import type { ReflectorStats } from '../../../src/cluster/kube/cache/reflector-options.ts';
import { KubeError } from '../../../src/cluster/kube/client/errors.ts';
import { WorkQueue } from '../../../src/cluster/kube/queue/work-queue.ts';
import { FAILURE_RULES } from '../../../src/cluster/operator/rollout/failure-rules.ts';
import { BUILD_ENDS, type ProgressMeasure, ROLLOUT_ENDS } from '../../../src/domain/revision/progress.ts';
import type { Fleet } from '../../../src/hub/store/deployments/fleet.ts';
import { createMetrics } from '../../../src/metrics/metrics.ts';

const make = () => createMetrics({ version: '1', role: 'all' });

const FLEET: Fleet = {
  deployments: { AWAITING_DELETE: 0, UNKNOWN: 2, UNUSED: 0, AWAITING_DATABASE: 0, READY: 3 },
  due: { platform: { count: 1, oldestSeconds: 7 }, tenant: { count: 4, oldestSeconds: 900 } },
  rolled: { deployments: { deployed: 8, failed: 2 }, tenants: { deployed: 3, failed: 1 } },
  unreconciled: 1,
  branches: { count: 0, oldestSeconds: 0 },
  listeners: [{ owner: 'platform', status: 'LOST', count: 1 }],
  pulses: [
    { id: 'known', silentSeconds: 90, leaseSeconds: -30 },
    { id: 'never', silentSeconds: null, leaseSeconds: null },
  ],
};
const POOL = { max: 10, total: 4, idle: 3, waiting: 2 };

describe('metric names', () => {
  it('follow the conventions of Prometheus: units at the end, and _total only for counters', () => {
    const ours = describeMetrics().filter(({ name }) => name.startsWith('berth_'));
    expect(ours.length).toBeGreaterThan(35);
    for (const { name, kind, help, labels } of ours) {
      expect(name).toMatch(/^berth_[a-z]+(_[a-z]+)*$/);
      expect(name.endsWith('_total'), name).toBe(kind === 'counter');
      if (kind === 'histogram') expect(name).toMatch(/_seconds$/);
      expect(help, name).toMatch(/^[A-Z1].*[.:)]?.*\.$/s);
      expect(
        labels.filter((label) => /tenant|name|deployment|revision|namespace/.test(label)),
        name,
      ).toEqual([]);
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
      'berth_work_due_oldest_seconds{owner="platform"} 7',
      'berth_work_due_oldest_seconds{owner="tenant"} 900',
      'berth_deployments_rolled{result="failed"} 2',
      'berth_tenants_rolled{result="deployed"} 3',
      'berth_listeners{owner="platform",status="LOST"} 1',
      'berth_listener_lease_seconds{listener="known"} -30',
      'berth_database_connections{state="busy"} 1',
      'berth_database_waiting 2',
    ])
      expect(text.split('\n')).toContain(line);
    expect(text).not.toContain('never');
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
    const queue = new WorkQueue();
    queue.add('a');
    queue.addRateLimited('b', 60_000);
    cluster.queue('resources', queue);
    cluster.leading('operator', true);
    cluster.leading('listener', false);
    const conflict = new KubeError({ kind: 'conflict', message: 'changed' });
    const count = cluster.reconciles('resources');
    count({ outcome: { kind: 'retry', error: conflict }, durationMs: 20 });
    count({ outcome: { kind: 'retry', error: new Error('bug') }, durationMs: 20 });
    const stats: ReflectorStats = {
      objects: 5,
      lists: 2,
      watchRestarts: 3,
      restarts: { ended: 2, gone: 1 },
      errors: 1,
      events: 9,
      handlerErrors: 0,
      since: new Date(Date.now() - 600_000),
      lastEventAt: new Date(Date.now() - 30_000),
      lastError: 'away',
    };
    const older = { ...stats, lastEventAt: new Date(Date.now() - 90_000), lastError: undefined };
    cluster.watches('operator', () => [
      { kind: 'Pod', stats },
      { kind: 'Pod', stats: older },
    ]);
    const text = await metrics.registry.metrics();
    const lines = text.split('\n');
    for (const line of [
      'berth_queue_depth{controller="resources"} 1',
      'berth_queue_delayed{controller="resources"} 1',
      'berth_queue_failing{controller="resources"} 1',
      'berth_leading{role="operator"} 1',
      'berth_leading{role="listener"} 0',
      'berth_reconciles_total{controller="resources",outcome="conflict"} 1',
      'berth_reconciles_total{controller="resources",outcome="retry"} 1',
      'berth_watch_objects{role="operator",kind="Pod"} 10',
      'berth_watch_failing{role="operator",kind="Pod"} 1',
      'berth_watch_restarts_total{role="operator",kind="Pod",cause="gone"} 2',
    ])
      expect(lines).toContain(line);
    const [, age] = /^berth_watch_last_sign_seconds\{role="operator",kind="Pod"\} (.*)$/m.exec(text) ?? [];
    expect(Number(age)).toBeGreaterThanOrEqual(90);
    expect(Number(age)).toBeLessThan(600);
    queue.shutdown();
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

  it('disappear with the term of their role, stay for the other role, and return with the next term', async () => {
    const metrics = make();
    const cluster = metrics.cluster();
    const queue = new WorkQueue();
    cluster.leading('operator', true);
    cluster.queue('resources', queue);
    cluster.queue('builds', queue);
    cluster.watches('operator', () => [{ kind: 'Pod', stats: stats(30) }]);
    cluster.queue('work', queue);
    cluster.watches('listener', () => [{ kind: 'Pod', stats: stats(30) }]);
    cluster.leading('listener', true);
    cluster.leading('operator', false);
    const standby = await metrics.registry.metrics();
    expect(standby).toMatch(/^berth_leading\{role="operator"\} 0$/m);
    expect(standby).not.toMatch(/^berth_watch_.*role="operator"/m);
    expect(standby).not.toMatch(/^berth_queue_.*controller="(resources|builds)"/m);
    expect(standby).toMatch(/^berth_watch_last_sign_seconds\{role="listener",kind="Pod"\} /m);
    expect(standby).toMatch(/^berth_queue_depth\{controller="work"\} 0$/m);
    cluster.leading('operator', true);
    cluster.watches('operator', () => [{ kind: 'Pod', stats: stats(30) }]);
    expect(await metrics.registry.metrics()).toMatch(
      /^berth_watch_objects\{role="operator",kind="Pod"\} 5$/m,
    );
    queue.shutdown();
  });

  it('count the age of a cache that was never filled from its creation, also with a filled cache of its kind', async () => {
    const metrics = make();
    metrics.cluster().watches('operator', () => [
      { kind: 'Pod', stats: stats(null) },
      { kind: 'Pod', stats: stats(3) },
    ]);
    const text = await metrics.registry.metrics();
    const [, age] = /^berth_watch_last_sign_seconds\{role="operator",kind="Pod"\} (.*)$/m.exec(text) ?? [];
    expect(Number(age)).toBeGreaterThanOrEqual(400);
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

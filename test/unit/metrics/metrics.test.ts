import { describe, expect, it } from 'vitest';
import { FAILURE_RULES } from '../../../src/cluster/operator/rollout/failure-rules.ts';
import { BUILD_ENDS, type ProgressMeasure, ROLLOUT_ENDS } from '../../../src/domain/revision/progress.ts';
import type { Fleet } from '../../../src/hub/store/deployments/fleet.ts';
import { createMetrics } from '../../../src/metrics/metrics.ts';

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

  it('exports the number of open streams of changes, without labels', async () => {
    const metrics = make();
    let streams = 2;
    metrics.hub().observer.streaming(() => streams);
    expect(await metrics.registry.metrics()).toMatch(/^berth_change_streams 2$/m);
    streams = 0;
    expect(await metrics.registry.metrics()).toMatch(/^berth_change_streams 0$/m);
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

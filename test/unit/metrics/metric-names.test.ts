/** Names and labels of metrics, which dashboards and the table of renamed metrics use. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeMetrics } from '../../../scripts/metrics-doc.ts';
import { WorkQueue } from '../../../src/cluster/kube/queue/work-queue.ts';
import { createMetrics } from '../../../src/metrics/metrics.ts';

const make = () => createMetrics({ version: '1', role: 'all' });

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
  workqueue_longest_running_processor_seconds: ['name'],
  workqueue_queue_duration_seconds: ['name'],
  workqueue_retries_total: ['name'],
  workqueue_unfinished_work_seconds: ['name'],
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
      // An age or a countdown is only right at the time of the scrape. Two standard names are ages.
      if (kind === 'gauge' && name.startsWith('berth_') && name.endsWith('_seconds'))
        expect(name).toMatch(/_timestamp_seconds$/);
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

/**
 * Queries of the dashboard that Kubebuilder 4.16 creates for controllers (grafana/controller-runtime-metrics.json), with
 * the labels that they group by.
 */
const KUBEBUILDER_DASHBOARD: Readonly<Record<string, readonly string[]>> = {
  controller_runtime_active_workers: [],
  controller_runtime_reconcile_errors_total: [],
  controller_runtime_reconcile_total: [],
  process_cpu_seconds_total: [],
  process_resident_memory_bytes: [],
  workqueue_adds_total: ['name'],
  workqueue_depth: [],
  workqueue_queue_duration_seconds_bucket: ['name', 'le'],
  workqueue_retries_total: ['name'],
  workqueue_unfinished_work_seconds: [],
  workqueue_work_duration_seconds_bucket: ['name', 'le'],
};

describe('the dashboard of Kubebuilder', () => {
  it('finds a value for each query after one reconcile', async () => {
    const metrics = make();
    const cluster = metrics.cluster();
    const queue = new WorkQueue();
    cluster.queue('manageddeployment', queue);
    const count = cluster.reconciles('manageddeployment');
    queue.add('a');
    await queue.get();
    queue.addAfter('a', 60_000);
    queue.done('a');
    count({ outcome: { kind: 'settled' }, durationMs: 1 });
    const text = await metrics.registry.metrics();
    for (const [name, labels] of Object.entries(KUBEBUILDER_DASHBOARD)) {
      const series = text.split('\n').find((line) => new RegExp(`^${name}[{ ]`).test(line));
      expect(series, name).toBeDefined();
      for (const label of labels) expect(series, name).toContain(`${label}="`);
    }
    queue.shutdown();
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

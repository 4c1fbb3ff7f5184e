/** The metrics of each deployment, from the real kube-state-metrics with the rights that its file grants. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { resolveKubeStateMetrics } from '../../cluster/kube-state-metrics.ts';
import { freePorts } from '../../cluster/ports.ts';
import { logPath, startProcess } from '../../cluster/processes.ts';
import { waitFor } from '../../cluster/wait.ts';
import { cluster, kubectlAsAdmin, uniqueName } from '../harness/environment.ts';
import { STATE_METRICS, STATE_METRICS_RIGHTS, stateMetrics } from '../harness/monitoring-files.ts';
import {
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../harness/operator.ts';
import { App, adminClient, appSpec } from '../harness/rollouts.ts';

const IMAGE = 'registry.test/web:1';
const BAD = 'registry.test/web:fail-image-pull';
const DEPLOYMENT_ID = '0198b0a0-0000-7000-8000-000000000001';
const TENANT_ID = '0198b0a0-0000-7000-8000-000000000002';

let world: OperatorWorld;
let operator: RunningOperator;
let client: KubeClient;
let metricsUrl: string;
const stops: (() => unknown)[] = [];

/** Starts kube-state-metrics with a new ServiceAccount that has the rights of the file. */
async function startStateMetrics(program: string, namespace: string): Promise<string> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-state-metrics-'));
  stops.push(() => rmSync(folder, { recursive: true, force: true }));
  await kubectlAsAdmin(['apply', '-f', STATE_METRICS_RIGHTS]);
  const account = { namespace, name: 'kube-state-metrics' };
  const binding = uniqueName('state-metrics');
  await kubectlAsAdmin(['-n', namespace, 'create', 'serviceaccount', account.name]);
  const subject = `--serviceaccount=${namespace}:${account.name}`;
  await kubectlAsAdmin([
    'create',
    'clusterrolebinding',
    binding,
    '--clusterrole=berth-kube-state-metrics',
    subject,
  ]);
  stops.push(() => kubectlAsAdmin(['delete', 'clusterrolebinding', binding]));
  const [port = 0, telemetryPort = 0] = await freePorts(2);
  const process = await startProcess(folder, {
    name: 'kube-state-metrics',
    command: program,
    args: [
      `--kubeconfig=${await cluster().kubeconfigFor(account)}`,
      '--custom-resource-state-only=true',
      `--custom-resource-state-config-file=${STATE_METRICS}`,
      `--namespaces=${namespace}`,
      '--host=127.0.0.1',
      `--port=${port}`,
      '--telemetry-host=127.0.0.1',
      `--telemetry-port=${telemetryPort}`,
      `--log_file=${logPath(folder, 'klog')}`,
    ],
  });
  stops.push(() => process.kill('SIGKILL'));
  return `http://127.0.0.1:${port}/metrics`;
}

beforeAll(async () => {
  const program = await resolveKubeStateMetrics();
  world = await operatorWorld('state-metrics');
  client = await adminClient();
  operator = await startOperator({ ...world.settings, patience: { imagePullMs: 2_000 } });
  metricsUrl = await startStateMetrics(program, world.namespace);
}, FIRST_TIME_MS);
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
  await operator?.stop();
  await client?.close();
  await world?.end();
});

interface Sample {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

async function scrape(): Promise<Sample[]> {
  const text = await (await fetch(metricsUrl)).text();
  return [...text.matchAll(/^(\w+)\{(.*)\} (\S+)$/gm)].map(([, metric = '', labels = '', value]) => ({
    metric,
    labels: Object.fromEntries(
      [...labels.matchAll(/(\w+)="((?:\\.|[^"\\])*)"/g)]
        .filter(([, name]) => !name?.startsWith('customresource_'))
        .map(([, name = '', content = '']) => [name, content]),
    ),
    value: Number(value),
  }));
}

/** Series of a deployment: name without prefix and with its other labels, and the value. */
async function seriesOf(name: string): Promise<Record<string, number>> {
  const samples = (await scrape()).filter(({ labels }) => labels['name'] === name);
  return Object.fromEntries(
    samples.map(({ metric, labels: { name: _, namespace, ...others }, value }) => {
      expect(namespace).toBe(world.namespace);
      const rest = Object.entries(others).map(([label, content]) => `${label}=${content}`);
      return [[metric.replace('berth_manageddeployment_', ''), ...rest.sort()].join(' '), value];
    }),
  );
}

const seriesUntil = (name: string, series: string) =>
  waitFor(
    `${name} to have ${series}`,
    async () => {
      const all = await seriesOf(name);
      return series in all ? all : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 300 },
  );

const secondsOf = (time: string | undefined) => Date.parse(time ?? '') / 1000;

describe.concurrent('kube-state-metrics', () => {
  test('shows ids, conditions, revisions and replicas when the status of a deployment has them', async () => {
    const shop = new App(client, world.namespace, 'shop');
    await shop.apply(appSpec(1, IMAGE, { deploymentId: DEPLOYMENT_ID, tenantId: TENANT_ID }));
    const status = await shop.ready();
    const series = await seriesUntil('shop', 'status_condition condition=Ready reason=Converged status=True');
    expect(series).toMatchObject({
      [`info deployment_id=${DEPLOYMENT_ID} source=external_image tenant_id=${TENANT_ID}`]: 1,
      spec_revision: 1,
      status_active_revision: 1,
      spec_suspend: 0,
      status_suspended: 0,
      metadata_generation: 1,
      status_observed_generation: 1,
      'status_replicas_desired component=api': 1,
      'status_replicas_ready component=api': 1,
      'status_replicas_updated component=api': 1,
      'status_replicas_available component=api': 1,
    });
    const conditions = (status.conditions ?? []).map(
      (one) => `status_condition condition=${one.type} reason=${one.reason} status=${one.status}`,
    );
    expect(conditions.length).toBeGreaterThan(5);
    expect(
      Object.keys(series)
        .filter((key) => key.startsWith('status_condition '))
        .sort(),
    ).toEqual(conditions.sort());
    const ready = status.conditions?.find(({ type }) => type === 'Ready');
    expect(series['ready_last_transition_timestamp_seconds']).toBe(secondsOf(ready?.lastTransitionTime));
    expect(series['created_timestamp_seconds']).toBeGreaterThan(1_700_000_000);
    expect(series).not.toHaveProperty('status_failed_revision');
    expect(series).not.toHaveProperty('deletion_timestamp_seconds');

    await shop.apply(appSpec(2, BAD, { deploymentId: DEPLOYMENT_ID, tenantId: TENANT_ID }));
    await shop.rolledBack();
    const back = await seriesUntil(
      'shop',
      'status_condition condition=Ready reason=ImagePullFailed status=False',
    );
    expect(back).toMatchObject({ spec_revision: 2, status_active_revision: 1, status_failed_revision: 2 });
  });

  test('shows when a deployment is off, is paused, or is in the grace period of its deletion', async () => {
    const quiet = new App(client, world.namespace, 'quiet');
    await quiet.apply(appSpec(1, IMAGE));
    await quiet.ready();
    await quiet.apply(appSpec(1, IMAGE, { suspend: true }));
    await quiet.until('off', (status) => status.suspended === true);
    const off = await seriesUntil('quiet', 'status_condition condition=Ready reason=SwitchedOff status=True');
    expect(off).toMatchObject({ spec_suspend: 1, 'info source=external_image': 1 });
    expect((await seriesUntil('quiet', 'status_suspended'))['status_suspended']).toBe(1);

    await world.kubectl('annotate', 'mdep', 'quiet', 'berth.dev/paused=true');
    await seriesUntil('quiet', 'status_condition condition=Paused reason=Paused status=True');

    const deletion = { requestTime: '2030-01-01T00:00:00Z', restorableUntilTime: '2030-01-08T00:00:00Z' };
    await quiet.apply(appSpec(1, IMAGE, { suspend: true, deletion }));
    const series = await seriesUntil('quiet', 'restorable_until_timestamp_seconds');
    expect(series['restorable_until_timestamp_seconds']).toBe(secondsOf(deletion.restorableUntilTime));
    await seriesUntil('quiet', 'status_condition condition=Ready reason=DeletionRequested status=False');
  });

  test('shows the time of a deletion, and no series when the deployment is gone', async () => {
    const gone = new App(client, world.namespace, 'gone');
    await gone.apply(appSpec(1, IMAGE));
    await gone.ready();
    await world.kubectl(
      'patch',
      'mdep',
      'gone',
      '--type=merge',
      '-p',
      '{"metadata":{"finalizers":["berth.test/hold"]}}',
    );
    await world.kubectl('delete', 'mdep', 'gone', '--wait=false');
    const series = await seriesUntil('gone', 'deletion_timestamp_seconds');
    expect(Math.abs(Date.now() / 1000 - (series['deletion_timestamp_seconds'] ?? 0))).toBeLessThan(120);
    await world.kubectl('patch', 'mdep', 'gone', '--type=merge', '-p', '{"metadata":{"finalizers":null}}');
    await waitFor('no series of it', async () => Object.keys(await seriesOf('gone')).length === 0, {
      timeoutMs: 60_000,
      intervalMs: 300,
    });
  });
});

test('kube-state-metrics exports the metrics of the configuration and no others', async () => {
  const text = await (await fetch(metricsUrl)).text();
  const families = [...text.matchAll(/^# TYPE (berth_\w+) /gm)].map(([, name]) => name);
  expect(families.sort()).toEqual([...stateMetrics].sort());
});

/** What a platform team watches Berth with, of running roles: metrics, logs and traces. Rules and dashboard: alerts.test.ts. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { traceIdOf } from '../../../src/domain/core/span.ts';
import { waitFor } from '../../cluster/wait.ts';
import type { BerthProcess } from '../../installation/berth-process.ts';
import { isReady, smallDeployment, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { environment } from '../harness/environment.ts';
import { dashboard, namesIn, queriesOf, rules, stateMetrics } from '../harness/monitoring-files.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../harness/otlp-receiver.ts';
import { startTracingBackend, type TracingBackendFixture } from '../harness/tracing-backend.ts';

const REQUEST_ID = 'follow-me-1';
/** Of whoever asks for the change. */
const CALLER = { trace: '4bf92f3577b34da6a3ce929d0e0e4736', span: '00f067aa0ba902b7' };
const TRACES_KEY = 'key-of-the-receiver';
/** Process start to metrics of the first deployment, with other tests beside. */
const PATIENCE = { timeoutMs: 60_000, intervalMs: 200 };

const logOf = (process: BerthProcess) =>
  readFileSync(process.logPath, 'utf8')
    .split('\n')
    // The last one may be half written.
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** What Prometheus reads from a process. */
async function scrape(process: BerthProcess): Promise<string> {
  const started = logOf(process).find(({ msg }) => msg === 'started');
  const answer = await fetch(`http://127.0.0.1:${String(started?.['metricsPort'])}/metrics`);
  expect(answer.status).toBe(200);
  return answer.text();
}

/** The metrics of a process when no key waits for a worker. Its own writes lead to another reconcile. */
const idle = (process: BerthProcess, controller: string): Promise<string> =>
  waitFor(
    `${controller} to have nothing waiting`,
    async () => {
      const text = await scrape(process);
      return measured(text, `workqueue_depth{name="${controller}"}`) === 0 ? text : undefined;
    },
    PATIENCE,
  );

/** Value of a series, whose labels are given in their order. */
function measured(text: string, series: string): number | undefined {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}

/** Every name that a query may use. */
function namesOf(text: string): Set<string> {
  const families = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  return new Set(
    families.flatMap(([, name = '', kind]) =>
      kind === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
}

let backend: TracingBackendFixture;
let receiver: OtlpReceiver;
let berth: WholeBerth;
let listener: BerthProcess;
let operator: BerthProcess;
let id: string;
let revisionId: string;
/** Host of the API server, as in the kubeconfigs of the roles. */
let apiServer: string;
beforeAll(async () => {
  const kubeconfig = parse(readFileSync(environment().kubeconfigPath, 'utf8')) as {
    clusters: { cluster: { server: string } }[];
  };
  apiServer = new URL(kubeconfig.clusters[0]?.cluster.server ?? '').host;
  backend = await startTracingBackend();
  receiver = await startOtlpReceiver();
  const settings = {
    BERTH_TRACING_URL: backend.url,
    BERTH_TRACES_ENDPOINT: receiver.endpoint,
    BERTH_TRACES_HEADERS: `x-receiver-key=${TRACES_KEY}`,
    BERTH_LOG_LEVEL: 'info',
  };
  berth = await startWholeBerth('monitoring', { start: 'api', settings });
  [listener, operator] = await Promise.all([
    berth.startRole('listener', 'listener', { BERTH_HUB_URL: berth.process().url }),
    berth.startRole('operator', 'operator'),
  ]);
  const answer = await fetch(new URL('/v2/deployments', berth.process().url), {
    method: 'POST',
    headers: {
      'x-api-key': berth.apiKey,
      'content-type': 'application/json',
      'x-request-id': REQUEST_ID,
      traceparent: `00-${CALLER.trace}-${CALLER.span}-01`,
    },
    body: JSON.stringify(smallDeployment('traced-shop')),
  });
  expect(answer.status).toBe(201);
  ({ id } = (await answer.json()) as { id: string });
  const ready = await berth.until(id, 'READY', isReady);
  revisionId = String(ready.latest_revision_id);
});
afterAll(async () => {
  await berth?.stop();
  await backend?.stop();
  await receiver?.stop();
});

describe('the metrics of running roles', () => {
  test('cover durations, leadership and queues, and have every name that dashboard and alerts use', async () => {
    const [hub, lister, leader] = [
      await waitFor(
        'the metrics of a READY deployment',
        async () => {
          const text = await scrape(berth.process());
          const isSeen =
            measured(text, 'berth_deployments{status="READY"}') === 1 &&
            measured(text, 'berth_work_due{owner="platform"}') === 0;
          return isSeen ? text : undefined;
        },
        PATIENCE,
      ),
      await idle(listener, 'work'),
      await idle(operator, 'manageddeployment'),
    ];
    expect(measured(hub, 'berth_deployment_ready_seconds_count')).toBe(1);
    expect(measured(hub, 'berth_deployment_ready_seconds_sum')).toBeGreaterThan(0);
    expect(measured(hub, 'berth_rollouts_total{result="deployed",reason="RolloutComplete"}')).toBe(1);
    expect(measured(hub, 'berth_rollout_duration_seconds_count{result="deployed",built="false"}')).toBe(1);
    expect(measured(hub, 'berth_listeners{owner="platform",status="CONNECTED"}')).toBe(1);
    const [, expiry] =
      /^berth_listener_lease_expiry_timestamp_seconds\{listener="[0-9a-f-]{36}"\} (\S+)$/m.exec(hub) ?? [];
    expect(Number(expiry)).toBeGreaterThan(Date.now() / 1000);
    expect(
      measured(
        hub,
        'http_request_duration_seconds_count{method="POST",route="/v2/deployments",status_code="201"}',
      ),
    ).toBe(1);
    expect(hub).toMatch(
      /^berth_http_waiting_requests_total\{method="GET",route="\/v2\/listeners\/:listener_id\/work",status_code="200"\} \d/m,
    );
    expect(hub).not.toMatch(
      /^http_request_duration_seconds_count\{.*route="\/v2\/listeners\/:listener_id\/work"/m,
    );
    expect(measured(hub, 'berth_http_cluster_errors_total')).toBe(0);
    expect(measured(hub, 'berth_http_requests_in_flight{route="/v2/deployments"}')).toBe(0);
    expect(
      measured(hub, 'berth_http_requests_in_flight{route="/v2/listeners/:listener_id/work"}'),
    ).toBeLessThan(3);
    expect(measured(hub, 'berth_work_items_total{kind="apply"}')).toBeGreaterThan(0);
    expect(measured(hub, 'berth_reports_total{kind="observed"}')).toBeGreaterThan(0);
    expect(measured(hub, 'berth_database_connections{state="idle"}')).toBeGreaterThan(0);
    expect(measured(hub, 'berth_database_connections_max')).toBe(10);
    for (const [text, role, controller] of [
      [lister, 'listener', 'work'],
      [leader, 'operator', 'manageddeployment'],
    ] as const) {
      const value = (series: string) => measured(text, series) ?? Number.NaN;
      expect(value(`leader_election_master_status{name="berth-${role}"}`)).toBe(1);
      const succeeded = value(
        `controller_runtime_reconcile_total{controller="${controller}",result="success"}`,
      );
      expect(succeeded).toBeGreaterThan(0);
      const reconciled = value(`controller_runtime_reconcile_time_seconds_count{controller="${controller}"}`);
      expect(reconciled).toBeGreaterThanOrEqual(succeeded);
      expect(value(`workqueue_depth{name="${controller}"}`)).toBe(0);
      const handedOut = value(`workqueue_queue_duration_seconds_count{name="${controller}"}`);
      expect(handedOut).toBeGreaterThanOrEqual(reconciled);
      expect(value(`workqueue_adds_total{name="${controller}"}`)).toBeGreaterThanOrEqual(handedOut);
      expect(value(`workqueue_work_duration_seconds_count{name="${controller}"}`)).toBeGreaterThan(0);
      expect(value(`workqueue_retries_total{name="${controller}"}`)).toBeGreaterThanOrEqual(0);
      expect(value(`berth_watch_objects{role="${role}",kind="ManagedDeployment"}`)).toBe(1);
      const heardAt = value(
        `berth_watch_last_event_timestamp_seconds{role="${role}",kind="ManagedDeployment"}`,
      );
      expect(Date.now() / 1000 - heardAt).toBeLessThan(90);
      expect(
        value(`rest_client_requests_total{code="200",method="GET",host="${apiServer}"}`),
      ).toBeGreaterThan(0);
    }
    expect(measured(leader, 'berth_operator_actions_total{kind="create"}')).toBeGreaterThan(3);

    const known = new Set([...[hub, lister, leader].flatMap((text) => [...namesOf(text)]), ...stateMetrics]);
    const used = [...rules.map(({ expr }) => expr), ...queriesOf(dashboard)].flatMap(namesIn);
    expect(used.length).toBeGreaterThan(50);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
    // Dashboard and alerts use every metric of the processes of Berth. A histogram has three names.
    const families = new Set(used.map((name) => name.replace(/_(sum|count|bucket)$/, '')));
    const ours = [hub, lister, leader]
      .flatMap((text) => [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name))
      .filter((name) => !/^(nodejs|process)_/.test(name));
    expect(ours.filter((name) => !families.has(name))).toEqual([]);
  });

  test('contain no id or name of a tenant or deployment', async () => {
    const texts = await Promise.all([berth.process(), listener, operator].map(scrape));
    for (const text of texts)
      for (const word of [berth.tenantId, id, revisionId, 'traced-shop', berth.namespace, berth.apiKey])
        expect(text).not.toContain(word);
  });
});

describe('the logs', () => {
  test('show one POST with its ids in the hub, the listener, each reconcile of the operator, and the reports', async () => {
    const lines = (process: BerthProcess, msg: string) =>
      logOf(process).filter((line) => line['msg'] === msg && line['deploymentId'] === id);
    const hub = berth.process();
    const [asked] = lines(hub, 'answered');
    expect(asked).toMatchObject({ requestId: REQUEST_ID, revisionId, generation: 1, status: 201 });
    const change = { revisionId, generation: 1 };
    expect(lines(hub, 'handed out work')[0]).toMatchObject({ ...change, kind: 'apply' });
    const [applied] = lines(listener, 'processed a work item');
    expect(applied).toMatchObject({ ...change, kind: 'apply', result: 'done' });
    expect(applied?.['reconcileId']).toMatch(/^[0-9a-f]{8}-[0-9a-z]+$/);
    const acts = lines(operator, 'done');
    expect(acts.length).toBeGreaterThan(3);
    for (const act of acts) {
      expect(act).toMatchObject({ ...change, resource: applied?.['resource'] });
      expect(act['reconcileId']).toMatch(/^[0-9a-f]{8}-[0-9a-z]+$/);
    }
    const reconciles = new Set(acts.map((act) => act['reconcileId']));
    expect(reconciles.size).toBeGreaterThan(1);
    expect(lines(operator, 'reported a status transition').map(({ reason }) => reason)).toContain(
      'RolloutComplete',
    );
    expect(lines(hub, 'a revision changed its status').at(-1)).toMatchObject({ revisionId, to: 'DEPLOYED' });
  });
});

describe('the traces', () => {
  test('contain one trace for a change, with spans of all roles and a link to the trace of the caller', async () => {
    const ofChange = () =>
      receiver.spans.filter(({ traceId }) => traceId === traceIdOf({ deploymentId: id, generation: 1 }));
    const wanted = ['POST /v2/deployments', 'hand out work', 'apply', 'reconcile', 'revision DEPLOYED'];
    const spans = await waitFor(
      'spans of every step',
      async () =>
        wanted.every((name) => ofChange().some((span) => span.name === name)) ? ofChange() : undefined,
      PATIENCE,
    );
    const services = new Map(spans.map(({ name, resource }) => [name, resource['service.name']]));
    expect(wanted.map((name) => services.get(name))).toEqual([
      'berth-api',
      'berth-api',
      'berth-listener',
      'berth-operator',
      'berth-api',
    ]);
    expect(spans.find(({ name }) => name === 'POST /v2/deployments')?.links).toEqual([CALLER.trace]);
    expect(new Set(spans.map(({ headers }) => headers['x-receiver-key']))).toEqual(new Set([TRACES_KEY]));
    for (const process of [berth.process(), listener, operator])
      expect(readFileSync(process.logPath, 'utf8')).not.toContain(TRACES_KEY);
  });

  test('add nothing to the custom resource', async () => {
    const { items } = await berth.get('manageddeployments');
    expect(JSON.stringify(items)).not.toMatch(/traceparent|opentelemetry/i);
    expect(items).toHaveLength(1);
  });
});

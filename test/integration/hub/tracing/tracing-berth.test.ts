/** Tracing with the whole of Berth: a process that is killed, and an application that reports with its pod's environment. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { V1Container, V1EnvVar } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../../cluster/wait.ts';
import { type KubeItem, smallDeployment, startWholeBerth, type WholeBerth } from '../../harness/berth.ts';
import { kubectlAsAdmin } from '../../harness/environment.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../../harness/otlp-receiver.ts';
import { startTracingBackend, type TracingBackendFixture } from '../../harness/tracing-backend.ts';

const WAIT = { timeoutMs: 90_000, intervalMs: 100 };

describe('a kill between a message to the backend and its record', () => {
  let backend: TracingBackendFixture;
  let berth: WholeBerth;
  beforeAll(async () => {
    backend = await startTracingBackend();
    berth = await startWholeBerth('tracekill', {
      start: 'api',
      settings: { BERTH_TRACING_URL: backend.url, BERTH_TRACING_TOKEN: 'token-of-berth' },
    });
  });
  afterAll(async () => {
    await berth?.stop();
    await backend.stop();
  });

  it('leads to a second message after the restart, but to one project and one event', async () => {
    const never = new Promise<void>(() => undefined);
    backend.onCall = () => ({ hang: never });
    const { id } = await berth.create(smallDeployment('traced'));
    await waitFor('the message', async () => backend.calls.length === 1, WAIT);
    await berth.process().stop('SIGKILL');
    backend.onCall = () => null;
    await berth.restart();
    const reasons = async () => {
      const { body } = await berth.call<{ resources: { reason: string }[] }>(
        'GET',
        `/v2/deployments/${id}/events`,
      );
      return body.resources.map(({ reason }) => reason);
    };
    await waitFor('the record', async () => (await reasons()).includes('TracingProjectCreated'), WAIT);
    expect(await reasons()).toEqual(['TracingProjectCreated', 'Created']);
    expect(backend.calls.map(({ method }) => method)).toEqual(['PUT', 'PUT']);
    expect([...backend.projects.values()]).toMatchObject([{ name: 'traced', tenant_id: berth.tenantId }]);
    expect(backend.calls.every(({ authorization }) => authorization === 'Bearer token-of-berth')).toBe(true);
  });
});

describe('the environment of the pods', () => {
  const NAME = 'Größe, $(PORT) = 100 %';
  let receiver: OtlpReceiver;
  let berth: WholeBerth;
  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    berth = await startWholeBerth('otlp');
    await kubectlAsAdmin([
      'create',
      'secret',
      'generic',
      'collector',
      '-n',
      berth.namespace,
      '--from-literal=OTEL_EXPORTER_OTLP_HEADERS=x-collector-token=open-sesame',
    ]);
  });
  afterAll(async () => {
    await berth?.stop();
    await receiver.stop();
  });

  const workload = async (id: string): Promise<KubeItem> => {
    const list = await berth.get(
      'deployments',
      '-l',
      `berth.dev/deployment-id=${id},app.kubernetes.io/component=api`,
    );
    const [found] = list.items;
    if (found === undefined) throw new Error('failed to find the workload');
    return found;
  };

  const appContainer = async (id: string): Promise<V1Container> => {
    const { template } = (await workload(id)).spec as { template: { spec: { containers: V1Container[] } } };
    const app = template.spec.containers.find(({ name }) => name === 'app');
    if (app === undefined) throw new Error('failed to find the container app');
    return app;
  };

  const secretData = async (name: string): Promise<Record<string, string>> => {
    const { data } = await berth.get<{ data?: Record<string, string> }>('secret', name);
    return Object.fromEntries(
      Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
    );
  };

  /** Values as the kubelet makes them: `$$` is `$`, references are looked up. */
  async function resolved({ value, valueFrom }: V1EnvVar): Promise<string> {
    const ref = valueFrom?.secretKeyRef;
    if (ref === undefined) return (value ?? '').replaceAll('$$', '$');
    return (await secretData(ref.name ?? ''))[ref.key] ?? '';
  }

  async function environmentOf(id: string): Promise<Record<string, string>> {
    const app = await appContainer(id);
    const seen: Record<string, string> = {};
    for (const { secretRef } of app.envFrom ?? [])
      Object.assign(seen, await secretData(secretRef?.name ?? ''));
    for (const entry of app.env ?? []) seen[entry.name] = await resolved(entry);
    return seen;
  }

  /** Runs the application with exactly that environment; returns the span that came in. */
  async function reportedBy(id: string) {
    const env = await environmentOf(id);
    const before = receiver.spans.length;
    const app = fileURLToPath(new URL('../../harness/traced-app.ts', import.meta.url));
    await promisify(execFile)(process.execPath, [app], { env });
    await waitFor('a span', async () => receiver.spans.length > before, WAIT);
    return receiver.spans.at(-1);
  }

  let first: string;

  it('has no endpoint when none is configured, as the dry run shows', async () => {
    ({ id: first } = await berth.create(smallDeployment(NAME, { secrets: [{ name: 'TOKEN', value: 'x' }] })));
    await berth.ready(first);
    expect(JSON.stringify(await appContainer(first))).not.toContain('OTEL_EXPORTER');
    const dryRun = await berth.call('POST', '/v2/deployments?dry_run=true', smallDeployment('dry'));
    expect(dryRun.status).toBe(200);
    expect(JSON.stringify(dryRun.body)).not.toContain('OTEL_EXPORTER');
  });

  it('gets a newly configured endpoint only with the next revision', async () => {
    const before = await workload(first);
    await berth.process().stop();
    Object.assign(berth.settings, {
      BERTH_OTLP_ENDPOINT: receiver.endpoint,
      BERTH_OTLP_HEADERS_SECRET: 'collector',
    });
    await berth.restart();
    // A change that the operator has to act upon, with its new configuration, and that leaves the app's pods alone.
    const changed = await berth.call('PATCH', `/v2/deployments/${first}`, {
      source_config: { resource_spec: { cache_cpu: 0.3 } },
    });
    expect(changed.status).toBe(200);
    await berth.ready(first);
    const after = await workload(first);
    expect(after.spec).toEqual(before.spec);
    expect(after.metadata.generation).toBe(before.metadata.generation);

    const revised = await berth.call('PATCH', `/v2/deployments/${first}`, {
      source_revision_config: { image_uri: 'registry.example/shop/web:2.0.0' },
    });
    expect(revised.status).toBe(200);
    await berth.ready(first);
    expect(JSON.stringify(await appContainer(first))).toContain(receiver.endpoint);
    const dryRun = await berth.call('POST', '/v2/deployments?dry_run=true', smallDeployment('dry'));
    expect(JSON.stringify(dryRun.body)).toContain(receiver.endpoint);
  });

  it('makes the span of a real application arrive with the project name and the headers of the platform', async () => {
    const deployment = await berth.call<{ tracing_project_id: string; latest_revision_id: string }>(
      'GET',
      `/v2/deployments/${first}`,
    );
    const project = await berth.call<{ name: string }>(
      'GET',
      `/v2/tracing-projects/${deployment.body.tracing_project_id}`,
    );
    expect(project.body.name).toBe(NAME);
    expect(JSON.stringify(await appContainer(first))).not.toContain('open-sesame');
    const span = await reportedBy(first);
    expect(span).toMatchObject({
      name: 'work',
      resource: {
        'service.name': NAME,
        'service.namespace': NAME,
        'service.version': '2.0.0',
        'berth.tracing.project': NAME,
        'berth.tenant.id': berth.tenantId,
        'berth.deployment.id': first,
        'berth.revision.id': deployment.body.latest_revision_id,
        'berth.revision.number': '2',
        'berth.component': 'api',
      },
      headers: { 'x-collector-token': 'open-sesame' },
    });
  });

  it('keeps the OpenTelemetry variables of the user, and sends no platform header to the endpoint of the user', async () => {
    const { id } = await berth.create(
      smallDeployment('own-tracing', {
        secrets: [
          { name: 'OTEL_SERVICE_NAME', value: 'my-own-name' },
          { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: receiver.endpoint },
        ],
      }),
    );
    await berth.ready(id);
    const span = await reportedBy(id);
    expect(span?.resource).toMatchObject({
      'service.name': 'my-own-name',
      'berth.tracing.project': 'own-tracing',
    });
    expect(span?.headers['x-collector-token']).toBeUndefined();
  });
});

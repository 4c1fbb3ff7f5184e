import type { V1Container } from '@kubernetes/client-node';
import { describe, expect, test } from 'vitest';
import type { RenderConfig } from '../../../src/contract/render/render-config.ts';
import type { RunSettings } from '../../../src/domain/run-settings/run-settings.ts';
import { desiredObjects } from '../../../src/workloads/desired-objects.ts';
import { renderTemplates } from '../../../src/workloads/objects/pod-template.ts';
import { requestedPodsHash, templateInputsHash } from '../../../src/workloads/template-inputs.ts';
import { CLOUD, minimalRequest, resourceOf, SELF_HOSTED } from './render-request.ts';

const requestWith = (settings: RunSettings, spec: object = {}) => {
  const request = minimalRequest(spec);
  return { ...request, source_revision_config: { ...request.source_revision_config, ...settings } };
};
const resourceWith = (settings: RunSettings, spec: object = {}, config: RenderConfig = SELF_HOSTED) =>
  resourceOf(requestWith(settings, spec), config);

/** The containers of the api component by name. */
function containersOf(settings: RunSettings, spec: object = {}, config: RenderConfig = SELF_HOSTED) {
  const pod = renderTemplates(resourceWith(settings, spec, config), config).api?.spec;
  const all = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
  return Object.fromEntries(all.map((container) => [container.name, container]));
}
const appOf = (settings: RunSettings, config: RenderConfig = SELF_HOSTED) =>
  containersOf(settings, {}, config)['app'] as V1Container;
const valuesOf = ({ env = [] }: V1Container) => new Map(env.map(({ name, value }) => [name, value]));

/** The ports that the rules of an isolated app open for the platform. */
function openPorts(settings: RunSettings, running: RunSettings | null, servingPorts: number[] = []) {
  const resource = resourceWith(settings, {}, CLOUD);
  const templates = running === null ? null : renderTemplates(resourceWith(running, {}, CLOUD), CLOUD);
  const [policy] = desiredObjects(resource, CLOUD, { templates, servingPorts })
    .map(({ object }) => object)
    .filter(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === resource.metadata.name);
  const { ingress } = (policy?.spec ?? { ingress: [] }) as { ingress: { ports?: { port: number }[] }[] };
  return ingress.flatMap(({ ports = [] }) => ports.map(({ port }) => port));
}

describe('port', () => {
  test('is the port of PORT, of the container and of its probes', () => {
    const app = appOf({ port: 80 });
    expect(valuesOf(app).get('PORT')).toBe('80');
    expect(app.ports).toEqual([{ name: 'http', containerPort: 80, protocol: 'TCP' }]);
    expect(app.readinessProbe?.tcpSocket?.port).toBe('http');
  });

  test.each([
    ['before any rollout', { port: 80 }, null, [], [80]],
    ['when no port is set', {}, {}, [], [8000]],
    ['while old pods have another port', { port: 80 }, { port: 80 }, [8000], [80, 8000]],
    ['when a rollout has failed', { port: 80 }, {}, [8000], [8000]],
    ['when the rollout is complete', { port: 80 }, { port: 80 }, [], [80]],
  ])('is open for traffic to isolated apps: %s', (_when, settings, running, serving, expected) => {
    expect(openPorts(settings, running, serving)).toEqual(expected);
  });
});

describe('commands', () => {
  test('replace command and arguments of their component only', () => {
    const templates = renderTemplates(
      resourceWith({ commands: { queue: { command: ['work'], args: ['$(PORT)'] } } }, { executor_cpu: 1 }),
      SELF_HOSTED,
    );
    const commandsOf = Object.entries(templates).map(([component, template]) => {
      const [{ command, args } = {} as V1Container] = template.spec?.containers ?? [];
      return [component, command, args];
    });
    expect(commandsOf).toEqual([
      ['api', undefined, undefined],
      ['queue', ['work'], ['$(PORT)']],
      ['executor', undefined, undefined],
    ]);
  });

  test('of a resource applied by hand have no effect when they are empty or their component does not exist', () => {
    const resource = resourceWith({});
    const commands = { api: { command: [], args: [] }, queue: { args: ['work'] } };
    const spec = { ...resource.spec, podTemplate: { ...resource.spec.podTemplate, commands } };
    expect(renderTemplates({ ...resource, spec }, SELF_HOSTED)).toEqual(
      renderTemplates(resource, SELF_HOSTED),
    );
  });
});

describe('env', () => {
  const own = (...names: string[]) => ({ env: names.map((name) => ({ name, value: `own ${name}` })) });
  const PLATFORM = {
    ...SELF_HOSTED,
    otlpEndpoint: 'https://collector.example',
    otlpHeadersSecret: 'headers',
  };

  test('follows the variables of Berth, so that values can refer to them', () => {
    const { env = [] } = appOf({ env: [{ name: 'URL', value: '$(DATABASE_URI) $$ $(MISSING)' }] });
    expect(env.at(-1)).toEqual({ name: 'URL', value: '$(DATABASE_URI) $$ $(MISSING)' });
    expect(env.map(({ name }) => name)).toContain('DATABASE_URI');
  });

  test('replaces tracing variables, each of which stays unique', () => {
    const { env = [] } = appOf(own('OTEL_SERVICE_NAME', 'OTEL_RESOURCE_ATTRIBUTES'), PLATFORM);
    const tracing = env.filter(({ name }) => name.startsWith('OTEL_') && !name.startsWith('OTEL_EXPORTER'));
    expect(tracing).toEqual([
      { name: 'OTEL_SERVICE_NAME', value: 'own OTEL_SERVICE_NAME' },
      { name: 'OTEL_RESOURCE_ATTRIBUTES', value: 'own OTEL_RESOURCE_ATTRIBUTES' },
    ]);
  });

  test.each([
    ['an endpoint', own('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'), false],
    ['trust and a proxy', own('SSL_CERT_FILE', 'HTTPS_PROXY'), false],
    ['plain text', own('OTEL_EXPORTER_OTLP_INSECURE'), false],
    ['other variables', own('LOG_LEVEL'), true],
  ])('keeps the headers of the platform from endpoints of the tenant: %s', (_what, settings, sent) => {
    const names = [...valuesOf(appOf(settings, PLATFORM)).keys()];
    expect(names.includes('OTEL_EXPORTER_OTLP_HEADERS')).toBe(sent);
    expect(new Set(names).size).toBe(names.length);
  });

  test('reaches a sidecar that asks for a variable of Berth, but not one that names its own variable', () => {
    const settings = own('OTEL_SERVICE_NAME', 'LOG_LEVEL');
    const sidecars = [
      { name: 'shipper', image: 'shipper:1', env: [{ name: 'OTEL_SERVICE_NAME' }, { name: 'LOG_LEVEL' }] },
    ];
    expect(containersOf(settings, { sidecars })['shipper']?.env).toEqual([
      { name: 'OTEL_SERVICE_NAME', value: 'own OTEL_SERVICE_NAME' },
      { name: 'LOG_LEVEL' },
    ]);
  });

  test('gives the URI of an external database when it has DATABASE_URI_CUSTOM', () => {
    const resource = resourceWith({ env: [{ name: 'DATABASE_URI_CUSTOM', value: 'postgresql://x' }] });
    expect(resource.spec.database.external).toBe(true);
    const app = appOf({ env: [{ name: 'DATABASE_URI_CUSTOM', value: 'postgresql://x' }] });
    expect(valuesOf(app).get('DATABASE_URI')).toBe('postgresql://x');
  });
});

describe('the hashes', () => {
  const EVERY = { port: 80, commands: { api: { args: ['a'] } }, env: [{ name: 'A', value: '1' }] };

  test.each(Object.entries(EVERY))('of the inputs of templates depend on %s', (field, value) => {
    expect(templateInputsHash(resourceWith({ [field]: value }))).not.toBe(
      templateInputsHash(resourceWith({})),
    );
  });

  test('of inputs depend on the order of variables, because values can refer to earlier ones', () => {
    const [a, b] = [
      { name: 'A', value: '1' },
      { name: 'B', value: '$(A)' },
    ];
    const hashes = [
      [a, b],
      [b, a],
    ].map((env) => templateInputsHash(resourceWith({ env })));
    expect(new Set(hashes).size).toBe(2);
  });

  test('of requested pods do not depend on run settings, which any policy allows', () => {
    expect(requestedPodsHash(resourceWith(EVERY))).toBe(requestedPodsHash(resourceWith({})));
  });
});

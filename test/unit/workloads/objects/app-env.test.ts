import type { V1EnvVar } from '@kubernetes/client-node';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RenderConfig } from '../../../../src/contract/render/render-config.ts';
import {
  isReservedEnvName,
  RESERVED_ENV_NAMES,
  TRACING_ENV_NAMES,
} from '../../../../src/domain/deployment/reserved.ts';
import { signalEndpoints } from '../../../../src/domain/resource-spec/exporter-variables.ts';
import { appEnv, requestedEnv } from '../../../../src/workloads/objects/app-env.ts';
import { appPolicy } from '../../../../src/workloads/objects/network-policies.ts';
import { minimalRequest, type RequestBody, resourceOf, SELF_HOSTED } from '../render-request.ts';

/** As the kubelet expands a value: k8s.io/kubernetes third_party/forked/golang/expansion. */
function expanded(value: string, variables: Readonly<Record<string, string>>): string {
  return value.replace(/\$(\$|\(([^)]*)\))/g, (whole, after: string, name: string | undefined) => {
    if (after === '$') return '$';
    return variables[name ?? ''] ?? whole;
  });
}

const TRACED: RenderConfig = {
  ...SELF_HOSTED,
  otlpEndpoint: 'http://collector:4318',
  otlpHeadersSecret: 'otlp',
};

function environment(request: RequestBody): Record<string, string> {
  const env = appEnv(resourceOf(request, TRACED), 'api', TRACED);
  const seen: Record<string, string> = {};
  for (const { name, value } of env) {
    seen[name] = value === undefined ? 'from a Secret' : expanded(value, seen);
  }
  return seen;
}

const name = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
  fc
    .array(fc.constantFrom('$', '(', ')', 'PORT', '$(PORT)', '$$', ',', '=', '%', ' '), { minLength: 1 })
    .map((parts) => parts.join('')),
);

describe('the environment of the app container', () => {
  test('contains exactly the reserved names and those of OpenTelemetry', () => {
    const names = Object.keys(environment(minimalRequest()));
    const signals = signalEndpoints('', '').map(([endpoint]) => endpoint);
    expect(names.toSorted()).toEqual([...RESERVED_ENV_NAMES, ...TRACING_ENV_NAMES, ...signals].toSorted());
    expect(RESERVED_ENV_NAMES.every(isReservedEnvName)).toBe(true);
    expect(TRACING_ENV_NAMES.some(isReservedEnvName)).toBe(false);
  });

  test('contains the name of the deployment as it was written, whatever characters it has', () => {
    fc.assert(
      fc.property(name, (displayName) => {
        const seen = environment({ ...minimalRequest(), name: displayName });
        expect(seen['DEPLOYMENT_NAME']).toBe(displayName);
        expect(seen['TRACING_PROJECT']).toBe(displayName);
        expect(seen['OTEL_SERVICE_NAME']).toBe(displayName);
      }),
    );
  });

  test('contains OpenTelemetry attributes that decode to the original values', () => {
    fc.assert(
      fc.property(name, (displayName) => {
        const attributes =
          environment({ ...minimalRequest(), name: displayName })['OTEL_RESOURCE_ATTRIBUTES'] ?? '';
        const decoded = Object.fromEntries(
          attributes.split(',').map((pair) => {
            const [key = '', value = '', ...rest] = pair.split('=');
            expect(rest).toEqual([]);
            return [key, decodeURIComponent(value)];
          }),
        );
        expect(decoded).toMatchObject({ 'service.namespace': displayName, 'service.version': '1.2.3' });
      }),
    );
  });

  test('takes the URIs of external data services from the env Secret', () => {
    const secrets = ['DATABASE_URI_CUSTOM', 'CACHE_URI_CUSTOM'].map((secret) => ({
      name: secret,
      value: 'x',
    }));
    const env = appEnv(resourceOf({ ...minimalRequest(), secrets }, SELF_HOSTED), 'api', SELF_HOSTED);
    const from = (variable: string) => env.find(({ name: named }) => named === variable)?.valueFrom;
    const secret = { name: 'demo-000000d1-env-1' };
    expect(from('DATABASE_URI')).toEqual({ secretKeyRef: { ...secret, key: 'DATABASE_URI_CUSTOM' } });
    expect(from('CACHE_URI')).toEqual({ secretKeyRef: { ...secret, key: 'CACHE_URI_CUSTOM' } });
  });
});

describe('the variables of OpenTelemetry', () => {
  const withSecrets = (...names: string[]) => ({
    ...minimalRequest(),
    secrets: names.map((secret) => ({ name: secret, value: 'x' })),
  });
  const variables = (request: RequestBody, config: RenderConfig) =>
    new Map(appEnv(resourceOf(request, config), 'queue', config).map((entry) => [entry.name, entry]));

  test('name the component when the platform has no endpoint', () => {
    const env = variables(minimalRequest(), SELF_HOSTED);
    expect(env.get('OTEL_SERVICE_NAME')?.value).toBe('demo-000000d1-queue');
    expect([...env.keys()].filter((named) => named.startsWith('OTEL_EXPORTER_'))).toEqual([]);
  });

  test('name project, component and revision when it has one, and contain only a reference to the headers', () => {
    const env = variables(minimalRequest(), TRACED);
    expect(env.get('OTEL_SERVICE_NAME')?.value).toBe('Demo');
    expect(env.get('OTEL_RESOURCE_ATTRIBUTES')?.value).toMatch(
      /,berth\.component=queue,berth\.revision\.number=1$/,
    );
    expect(env.get('OTEL_EXPORTER_OTLP_PROTOCOL')?.value).toBe('http/protobuf');
    expect(env.get('OTEL_EXPORTER_OTLP_HEADERS')).toEqual({
      name: 'OTEL_EXPORTER_OTLP_HEADERS',
      valueFrom: { secretKeyRef: { name: 'otlp', key: 'OTEL_EXPORTER_OTLP_HEADERS', optional: true } },
    });
  });

  test.each(TRACING_ENV_NAMES)('have the value of the user for %s when a secret has this name', (own) => {
    const env = variables(withSecrets(own), TRACED);
    expect(env.get(own)).toEqual({
      name: own,
      valueFrom: { secretKeyRef: { name: 'demo-000000d1-env-1', key: own } },
    });
  });

  test('send no setting of the platform to an endpoint of the user', () => {
    const env = variables(withSecrets('OTEL_EXPORTER_OTLP_ENDPOINT'), TRACED);
    expect([...env.keys()].filter((named) => named.startsWith('OTEL_EXPORTER_'))).toEqual([
      'OTEL_EXPORTER_OTLP_ENDPOINT',
    ]);
  });

  test.each(['TRACES_', 'METRICS_', 'LOGS_', 'PROFILES_', ''])(
    'send no header of the platform when a secret is OTEL_EXPORTER_OTLP_%sENDPOINT',
    (signal) => {
      const own = `OTEL_EXPORTER_OTLP_${signal}ENDPOINT`;
      const env = variables(withSecrets(own), TRACED);
      expect([...env.keys()].filter((named) => named.startsWith('OTEL_EXPORTER_'))).toEqual([own]);
      expect(new Map<string, V1EnvVar>(env).get(own)?.valueFrom?.secretKeyRef?.name).toBe(
        'demo-000000d1-env-1',
      );
    },
  );

  test('set the endpoint of each signal with the headers, whatever the image or an unknown Secret contains', () => {
    const env = variables(minimalRequest(), TRACED);
    expect(env.get('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')?.value).toBe('http://collector:4318/v1/traces');
    expect(env.get('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT')?.value).toBe('http://collector:4318/v1/metrics');
    expect(env.get('OTEL_EXPORTER_OTLP_LOGS_ENDPOINT')?.value).toBe('http://collector:4318/v1/logs');
    const grpc = variables(minimalRequest(), { ...TRACED, otlpProtocol: 'grpc' });
    expect(grpc.get('OTEL_EXPORTER_OTLP_LOGS_ENDPOINT')?.value).toBe('http://collector:4318');
    const bare = variables(minimalRequest(), { ...TRACED, otlpHeadersSecret: null });
    expect(bare.has('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')).toBe(false);
  });

  const HTTPS: RenderConfig = { ...TRACED, otlpEndpoint: 'https://collector.example' };
  test.each([
    ['http_proxy', TRACED, false],
    ['HTTPS_PROXY', TRACED, false],
    ['HTTP_PROXY NO_PROXY', TRACED, false],
    ['HTTPS_PROXY', HTTPS, true],
    ['HTTPS_PROXY NODE_EXTRA_CA_CERTS', HTTPS, false],
    ['ALL_PROXY OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE', HTTPS, false],
    ['OTEL_EXPORTER_OTLP_CERTIFICATE', HTTPS, true],
    ['OTEL_EXPORTER_OTLP_TRACES_INSECURE', HTTPS, false],
    ['OTEL_TRACES_SAMPLER', TRACED, true],
  ] as const)(
    'send the headers with the secrets %s only when nothing else can read them',
    (names, config, sent) => {
      const env = variables(withSecrets(...names.split(' ')), config);
      expect(env.has('OTEL_EXPORTER_OTLP_HEADERS')).toBe(sent);
      expect(env.has('OTEL_EXPORTER_OTLP_ENDPOINT')).toBe(true);
    },
  );

  test('give a sidecar the headers only together with the endpoints of the platform', () => {
    const app = appEnv(resourceOf(minimalRequest(), TRACED), 'api', TRACED);
    const asked = { name: 'OTEL_EXPORTER_OTLP_HEADERS' };
    const handed = requestedEnv([asked], app);
    expect(handed[0]?.valueFrom?.secretKeyRef?.name).toBe('otlp');
    expect(handed.slice(1).map(({ name: named }) => named)).toEqual(
      ['TRACES', 'METRICS', 'LOGS'].map((signal) => `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`),
    );
    for (const own of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http_proxy'])
      expect(requestedEnv([asked, { name: own, value: 'http://mine' }], app)[0]).toEqual(asked);
  });

  const observability = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'observability' } },
  };
  test.each([
    ['http://collector.observability:4318', observability, 4318],
    ['https://collector.observability.svc.cluster.local/otlp', observability, 443],
    ['http://collector.observability.svc', observability, 80],
    ['http://10.1.2.3:4317', { ipBlock: { cidr: '10.1.2.3/32' } }, 4317],
    ['https://otlp.vendor.example', null, 0],
    ['http://collector:4318', null, 0],
  ])(
    'add an egress rule to an isolated app for %s only when its network is known',
    (otlpEndpoint, peer, port) => {
      const egress = (config: RenderConfig) => {
        const [{ spec } = {}] = appPolicy(resourceOf(minimalRequest(), config), config, [8000]);
        return (spec as { egress: object[] }).egress;
      };
      const isolated = { ...SELF_HOSTED, networkIsolation: true };
      const rule = { to: [peer], ports: [{ protocol: 'TCP', port }] };
      expect(egress({ ...isolated, otlpEndpoint })).toEqual([
        ...egress(isolated),
        ...(peer === null ? [] : [rule]),
      ]);
    },
  );
});

describe('the environment of the containers of the user', () => {
  const app = appEnv(resourceOf(minimalRequest(), SELF_HOSTED), 'api', SELF_HOSTED);

  test('contains the variable of the app when an entry has only its name', () => {
    const [database, own, unknown] = requestedEnv(
      [{ name: 'DATABASE_URI' }, { name: 'PORT', value: '9000' }, { name: 'EMPTY' }],
      app,
    );
    expect(database?.valueFrom?.secretKeyRef?.key).toBe('uri');
    expect(own).toEqual({ name: 'PORT', value: '9000' });
    expect(unknown).toEqual({ name: 'EMPTY' });
  });

  test('contains no variable of the app that was not requested', () => {
    expect(requestedEnv([{ name: 'POD', value: 'x' }], app)).toEqual([{ name: 'POD', value: 'x' }]);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isReservedEnvName, RESERVED_ENV_NAMES } from '../../../src/domain/reserved.ts';
import { appEnv, requestedEnv } from '../../../src/workloads/app-env.ts';
import { minimalRequest, type RequestBody, resourceOf, SELF_HOSTED } from './render-request.ts';

/** As the kubelet expands a value: k8s.io/kubernetes third_party/forked/golang/expansion. */
function expanded(value: string, variables: Readonly<Record<string, string>>): string {
  return value.replace(/\$(\$|\(([^)]*)\))/g, (whole, after: string, name: string | undefined) => {
    if (after === '$') return '$';
    return variables[name ?? ''] ?? whole;
  });
}

function environment(request: RequestBody): Record<string, string> {
  const config = { ...SELF_HOSTED, otlpEndpoint: 'http://collector:4318' };
  const env = appEnv(resourceOf(request, config), 'api', config);
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
  test('is exactly the reserved names', () => {
    const names = Object.keys(environment(minimalRequest()));
    expect(names.toSorted()).toEqual([...RESERVED_ENV_NAMES].toSorted());
    expect(names.every(isReservedEnvName)).toBe(true);
  });

  test("shows the app the deployment's name as it was written, whatever it holds", () => {
    fc.assert(
      fc.property(name, (displayName) => {
        const seen = environment({ ...minimalRequest(), name: displayName });
        expect(seen['DEPLOYMENT_NAME']).toBe(displayName);
        expect(seen['TRACING_PROJECT']).toBe(displayName);
      }),
    );
  });

  test('gives OpenTelemetry attributes that decode to what was meant', () => {
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

describe("the environment of the user's containers", () => {
  const app = appEnv(resourceOf(minimalRequest(), SELF_HOSTED), 'api', SELF_HOSTED);

  test("holds the app's variable where an entry names it and says nothing more", () => {
    const [database, own, unknown] = requestedEnv(
      [{ name: 'DATABASE_URI' }, { name: 'PORT', value: '9000' }, { name: 'EMPTY' }],
      app,
    );
    expect(database?.valueFrom?.secretKeyRef?.key).toBe('uri');
    expect(own).toEqual({ name: 'PORT', value: '9000' });
    expect(unknown).toEqual({ name: 'EMPTY' });
  });

  test('holds nothing of the app that was not asked for', () => {
    expect(requestedEnv([{ name: 'POD', value: 'x' }], app)).toEqual([{ name: 'POD', value: 'x' }]);
  });
});

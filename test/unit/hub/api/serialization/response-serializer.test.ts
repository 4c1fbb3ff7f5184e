/** Responses are written through their schemas: all declared fields, no others, and no converted values. */

import fc from 'fast-check';
import type { RouteOptions } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { declaringDeps } from '../../../../../scripts/openapi-document.ts';
import { buildApp } from '../../../../../src/hub/api/core/app.ts';
import { serializerCompiler } from '../../../../../src/hub/api/serialization/response-serializer.ts';
import {
  brokenOf,
  byContentType,
  type Declared,
  jsonOf,
  type Pair,
  pairsOf,
  responseSchemas,
  type Schema,
  UNDECLARED,
} from './response-schemas.ts';

const schemas = await responseSchemas();
const RUNS = { numRuns: 25 };
const write = (schema: z.ZodType, value: unknown) => JSON.parse(serializerCompiler({ schema })(value));

/** The message of the error; empty: there was none. */
function messageOf(schema: z.ZodType, value: unknown): string {
  try {
    write(schema, value);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

const byJson = (value: unknown) => JSON.parse(JSON.stringify(value));

test('finds the schemas of all routes', () => {
  expect(schemas.length).toBeGreaterThan(50);
});

describe.each(schemas)('the serializer of $name', ({ zod, json }) => {
  test('writes what JSON.stringify writes, without undeclared fields, for any valid result', () => {
    const property = fc.property(pairsOf(json), ({ valid, extended }) => {
      expect(write(zod, valid)).toEqual(byJson(valid));
      expect(write(zod, extended)).toEqual(byJson(valid));
    });
    fc.assert(property, RUNS);
  });

  test('throws when a field is null, missing or of another type', () => {
    const isRefused = (value: unknown) => /^failed to serialize a response/.test(messageOf(zod, value));
    const samples = fc.sample(pairsOf(json), { numRuns: 2, seed: 66 });
    const accepted = samples
      .flatMap(({ valid }) => [...brokenOf(json, valid)])
      .filter((broken) => !isRefused(broken));
    expect(accepted).toEqual([]);
  });
});

describe('the message of a refused result', () => {
  const schema = z.object({
    resources: z.array(z.object({ name: z.string(), at: z.string().nullable() })),
    labels: z.record(z.string(), z.string()).optional(),
    size: z.number().optional(),
  });
  test.each([
    [
      {
        resources: [
          { name: 'a', at: null },
          { name: null, at: null },
        ],
      },
      '.resources[1].name is null, not string',
    ],
    [{ resources: [{ name: 'a' }] }, '.resources[0].at is missing'],
    [{ resources: { name: 'secret' } }, '.resources is object, not array'],
    [{ resources: [], labels: { secret: 1 } }, '.labels.* is number, not string'],
    [[], ' is array, not object'],
    [{ resources: [], size: Number.NaN }, '.size is NaN, not number'],
  ])('has the path and the type, and no value: %j', (value, problem) => {
    expect(messageOf(schema, value)).toBe(
      `failed to serialize a response: it${problem}; next: fix its handler or its schema`,
    );
  });
});

test('a map keeps its keys, and an object that allows other fields keeps them', () => {
  const schema = z.object({
    labels: z.record(z.string(), z.string()),
    manifest: z.looseObject({ kind: z.string() }),
    any: z.unknown(),
  });
  const value = {
    labels: { 'example.com/a': '1', ['__proto__']: 'x' },
    manifest: { kind: 'Pod', spec: { replicas: null, list: [1, [null]] } },
    any: [null, { a: undefined, b: 1 }],
  };
  expect(write(schema, value)).toEqual(byJson(value));
});

test('a union that can be null keeps null, each option and no undeclared field', () => {
  const one = z.object({ kind: z.literal('one'), url: z.string() });
  const two = z.object({ kind: z.literal('two') });
  const schema = z.object({ source: z.union([one, two]).nullable() });
  const property = fc.property(pairsOf(jsonOf(schema)), ({ valid, extended }) => {
    expect(write(schema, extended)).toEqual(byJson(valid));
  });
  fc.assert(property, { ...RUNS, examples: [[{ valid: { source: null }, extended: { source: null } }]] });
  expect(messageOf(schema, {})).toContain('it.source is missing');
});

const JSON_TYPE = 'application/json';

interface Call {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly status: number;
  readonly schema: Schema;
}

/** The API, with handlers that return what `result` returns, and one call for each of their successful statuses. */
async function startWith(result: () => unknown, log: unknown[]) {
  const quiet = () => undefined;
  const logger = { debug: quiet, info: quiet, warn: quiet, error: (fields: object) => log.push(fields) };
  const app = buildApp({ ...declaringDeps(), logger });
  const calls: Call[] = [];
  app.addHook('onRoute', (route: RouteOptions) => {
    const response = (route.schema?.response ?? {}) as Record<string, Declared>;
    const { method, url } = route as RouteOptions & Pick<Call, 'method'>;
    for (const [status, declared] of Object.entries(response)) {
      const schema = byContentType(declared)[JSON_TYPE];
      const hasBody = status.startsWith('2') && status !== '204' && String(method) !== 'HEAD';
      if (hasBody && schema !== undefined)
        calls.push({ method, url, status: Number(status), schema: jsonOf(schema) });
    }
    route.config = { ...route.config, access: 'public' };
    route.schema = { response };
    route.handler = async ({ headers }, reply) => reply.code(Number(headers['x-status'])).send(result());
  });
  await app.ready();
  onTestFinished(() => app.close());
  const call = ({ method, url, status }: Call) =>
    app.inject({ method, url, headers: { 'x-status': String(status) } });
  return { calls, call };
}

describe('every route', () => {
  test('leaves out the fields that its handler adds', async () => {
    let result: unknown;
    const log: unknown[] = [];
    const { calls, call } = await startWith(() => result, log);
    expect(calls.length).toBeGreaterThan(45);
    for (const each of calls) {
      const name = `${each.method} ${each.url} ${each.status}`;
      const [{ valid, extended }] = fc.sample(pairsOf(each.schema), { numRuns: 1, seed: 50 }) as [Pair];
      expect(JSON.stringify(extended), name).toContain(UNDECLARED);
      result = extended;
      const answer = await call(each);
      expect([answer.statusCode, log], name).toEqual([each.status, []]);
      expect(answer.payload, name).not.toContain(UNDECLARED);
      expect(answer.json(), name).toEqual(byJson(valid));
    }
  });

  test('answers 500, and logs the field, when a field is null, missing or of another type', async () => {
    let result: unknown;
    const log: unknown[] = [];
    const { calls, call } = await startWith(() => result, log);
    for (const each of calls) {
      const name = `${each.method} ${each.url} ${each.status}`;
      const [{ valid }] = fc.sample(pairsOf(each.schema), { numRuns: 1, seed: 50 }) as [Pair];
      // fastify sends a text as it is.
      const objects = [...brokenOf(each.schema, valid)].filter((broken) => typeof broken !== 'string');
      for (const broken of objects.slice(0, 6)) {
        result = broken;
        const answer = await call(each);
        expect(answer.statusCode, `${name} ${JSON.stringify(broken)}`).toBe(500);
        expect(Object.keys(answer.json()), name).toEqual(['detail']);
        const logged = { err: expect.stringMatching(/^failed to serialize a response: it/) };
        expect(log.splice(0), name).toEqual([expect.objectContaining(logged)]);
      }
    }
  });
});

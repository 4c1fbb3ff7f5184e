/** What every query parameter of every route accepts, and its message for other values. */
import type { RouteOptions } from 'fastify';
import { beforeAll, describe, expect, test } from 'vitest';
import { declaringDeps } from '../../../../scripts/openapi-document.ts';
import type { BodyIssue } from '../../../../src/domain/core/body-issue.ts';
import { buildApp } from '../../../../src/hub/api/core/app.ts';
import type { ApiError } from '../../../../src/hub/api/core/errors.ts';
import { validatorCompiler } from '../../../../src/hub/api/core/validation.ts';
import {
  type JsonSchema,
  type OpenApiDocument,
  operationsOf,
  SCHEMA_REFERENCE,
} from '../../../../src/hub/api/openapi/openapi-types.ts';

interface Parameter {
  /** `GET /v2/deployments limit`. */
  readonly title: string;
  readonly schema: JsonSchema;
  /** The message for this parameter; null: it is accepted as `value`. */
  readonly send: (value: unknown) => { readonly message: string | null; readonly value: unknown };
}

let parameters: Parameter[] = [];

beforeAll(async () => {
  const querystrings = new Map<string, unknown>();
  const app = buildApp(declaringDeps());
  app.addHook('onRoute', ({ method, url, schema }: RouteOptions) => {
    const path = url.replace(/:(\w+)/g, '{$1}');
    if (schema?.querystring !== undefined) querystrings.set(`${method} ${path}`, schema.querystring);
  });
  await app.ready();
  const document = app.swagger() as OpenApiDocument;
  parameters = operationsOf(document).flatMap(({ method, path, operation }) => {
    const route = `${method.toUpperCase()} ${path}`;
    const inQuery = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
    return inQuery.map(({ name, schema }) => ({
      title: `${route} ${name}`,
      schema: resolved(schema ?? {}, document),
      send: sender(querystrings.get(route), name),
    }));
  });
  await app.close();
}, 60_000);

/** A schema, or the named schema that it refers to. */
function resolved(schema: JsonSchema, { components }: OpenApiDocument): JsonSchema {
  const name = schema.$ref?.slice(SCHEMA_REFERENCE.length);
  return name === undefined ? schema : (components.schemas[name] ?? {});
}

function sender(schema: unknown, name: string): Parameter['send'] {
  const validate = validatorCompiler({
    schema: schema as never,
    method: 'GET',
    url: '/',
    httpPart: 'querystring',
  });
  return (sent) => {
    const { error, value } = validate({ [name]: sent }) as { error?: ApiError; value?: object };
    const issues = (error?.detail ?? []) as BodyIssue[];
    const issue = issues.find(({ loc }) => loc[1] === name);
    return { message: issue?.msg ?? null, value: (value as Record<string, unknown> | undefined)?.[name] };
  };
}

/** The calls of listeners are read as earlier versions of the hub read them. */
const OF_LISTENERS = /^GET \/v2\/listeners\/\{listener_id\}\/(work|log-requests|tasks) /;

const ofType = (type: string) =>
  parameters.filter(({ title, schema }) => schema.type === type && !OF_LISTENERS.test(title));

/** Words of the validation library and of JavaScript. */
const JARGON = /expected|received|invalid|regex|pattern|>=|<=|NaN|undefined|zod/i;
const BOOLEAN = 'must be true or false (true, True, TRUE, 1, false, False, FALSE and 0 are accepted)';

describe('every boolean parameter', () => {
  test('accepts the spellings of common clients', () => {
    const all = ofType('boolean');
    expect(all.length).toBeGreaterThan(10);
    for (const { title, send } of all) {
      for (const word of ['true', 'True', 'TRUE', '1'])
        expect(send(word), `${title} ${word}`).toMatchObject({ message: null });
      for (const word of ['false', 'False', 'FALSE', '0'])
        expect(send(word), `${title} ${word}`).toMatchObject({ message: null });
    }
  });

  test('has the value that was sent', () => {
    const filter = parameters.find(({ title }) => title === 'GET /v2/deployments remote_reconciled');
    expect(['True', '1', 'False', '0'].map((word) => filter?.send(word).value)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test('lists the accepted values when it rejects another text', () => {
    for (const { title, send } of ofType('boolean')) {
      for (const word of ['yes', 'on', '', 'null', 'None', '1.0', ' true', '2'])
        expect(send(word).message, `${title} ${word}`).toBe(BOOLEAN);
      expect(send(['true', 'false']).message, title).toBe('must be set only once');
    }
  });
});

describe('every integer parameter', () => {
  test('accepts a whole number with a fraction of zeros', () => {
    const all = ofType('integer');
    expect(all.length).toBeGreaterThan(5);
    for (const { title, send } of all) {
      expect(send('5.0'), title).toEqual({ message: null, value: 5 });
      expect(send('5.000'), title).toEqual({ message: null, value: 5 });
    }
  });

  test('requires a whole number when it rejects another text', () => {
    for (const { title, send } of ofType('integer')) {
      for (const word of ['5.5', '5.', '.0', '1e2', '0x5', 'five', '', 'NaN', 'Infinity', '1,000', '５'])
        expect(send(word).message, `${title} ${word}`).toBe('must be a whole number, such as 5');
      expect(send(['1', '2']).message, title).toBe('must be set only once');
      expect(send('-1.0').message, title).toMatch(/^must be at least \d$/);
      expect(send('99999999999999999999').message, title).toMatch(/^must be at most \d+$/);
    }
  });
});

describe('every parameter', () => {
  test('states in plain words what it accepts', () => {
    for (const { title, send } of parameters) {
      for (const word of ['', 'nonsense', '\u0000', 'x'.repeat(5000), ['a', 'b']]) {
        const { message } = send(word);
        if (message !== null) expect(message, `${title} ${word}`).not.toMatch(JARGON);
      }
    }
  });

  test('lists its values when it accepts only some', () => {
    const enums = parameters.filter(({ schema }) => schema.enum !== undefined);
    expect(enums.length).toBeGreaterThan(2);
    for (const { title, schema, send } of enums)
      for (const value of schema.enum ?? []) expect(send('nonsense').message, title).toContain(String(value));
  });
});

test('accepts a list in one parameter or in several, with spaces after its commas', () => {
  const ids = parameters.find(({ title }) => title === 'GET /v2/deployments deployment_ids');
  const one = '0197a000-0000-7000-8000-000000000001';
  const two = '0197a000-0000-7000-8000-000000000002';
  for (const sent of [`${one},${two}`, `${one}, ${two}`, [one, two]])
    expect(ids?.send(sent)).toEqual({ message: null, value: [one, two] });
  expect(ids?.send(`${one},`).message).toBe('must be a UUID');
});

import { expect, test } from 'vitest';
import { uuidv7 } from '../../../../../src/domain/core/id.ts';
import { validatorCompiler } from '../../../../../src/hub/api/core/validation.ts';
import { streamCursor } from '../../../../../src/hub/api/events/event-cursor.ts';
import {
  deploymentEventsQuery,
  filterOf,
  pageOf,
  tenantEventsQuery,
} from '../../../../../src/hub/api/events/event-query.ts';

type Compiled = (data: unknown) => {
  value?: typeof tenantEventsQuery._output;
  error?: { detail: { loc: string[]; msg: string }[] };
};
const compile = (schema: unknown): Compiled =>
  validatorCompiler({ schema, method: 'GET', url: '/', httpPart: 'querystring' } as never) as Compiled;
const ofTenant = compile(tenantEventsQuery);
const ofDeployment = compile(deploymentEventsQuery);

const id = uuidv7();
const place = streamCursor({ position: 5, id });
const early = '2026-11-29T10:00:00Z';
const late = '2026-11-29T12:00:00+01:00';

test.each([
  { query: { since: late, until: early }, field: 'until', message: 'must be after since' },
  { query: { since: early, until: early }, field: 'until', message: 'must be after since' },
  { query: { since: 'yesterday' }, field: 'since', message: 'time' },
  { query: { until: '2026-13-01T00:00:00Z' }, field: 'until', message: 'time' },
  { query: { reason: 'Patched,Nonsense' }, field: 'reason', message: 'is not the reason of an event' },
  { query: { reason: 'Converged' }, field: 'reason', message: 'is not the reason of an event' },
  { query: { reason: '' }, field: 'reason', message: 'is not the reason of an event' },
  { query: { deployment_id: 'shop' }, field: 'deployment_id', message: '' },
  { query: { limit: '0' }, field: 'limit', message: '' },
  { query: { limit: '101' }, field: 'limit', message: '' },
  { query: { cursor: id, offset: '20' }, field: 'offset', message: 'must not be used with cursor' },
  {
    query: { follow: 'true', offset: '1' },
    field: 'offset',
    message: 'must not be used with cursor or follow',
  },
  { query: { follow: 'true', cursor: id }, field: 'cursor', message: 'line of a stream' },
  { query: { cursor: place }, field: 'cursor', message: 'page of this list' },
  { query: { cursor: 'x'.repeat(61) }, field: 'cursor', message: '' },
  { query: { follow: 'true', cursor: place, limit: '5' }, field: 'limit', message: 'must not be used' },
  { query: { follow: 'perhaps' }, field: 'follow', message: '' },
  { query: { color: 'red' }, field: 'color', message: 'is not a parameter of this route' },
])('names the field when the query is $query', ({ query, field, message }) => {
  const { error } = ofTenant(query);
  const issue = error?.detail.find(({ loc }) => loc[1] === field);
  expect(issue?.loc.slice(0, 2)).toEqual(['query', field]);
  expect(issue?.msg).toContain(message);
});

test('rejects deployment_id when the path already names the deployment', () => {
  const { error } = ofDeployment({ deployment_id: id });
  expect(error?.detail).toEqual([
    { loc: ['query', 'deployment_id'], msg: 'is not a parameter of this route', type: 'extra_forbidden' },
  ]);
});

test('returns filters and page when the query is valid', () => {
  const { value } = ofTenant({
    deployment_id: id,
    reason: ['Patched', 'Created, Deleted'],
    since: early,
    until: late,
    limit: '5',
    cursor: id,
  });
  expect(value && filterOf(value as never)).toEqual({
    deploymentId: id,
    reasons: ['Patched', 'Created', 'Deleted'],
    since: new Date(early),
    until: new Date(late),
  });
  expect(value && pageOf(value as never)).toEqual({ limit: 5, offset: 0, before: id });
});

test('uses the default page when the query is empty', () => {
  const { value } = ofTenant({});
  expect(value && pageOf(value as never)).toEqual({ limit: 20, offset: 0, before: undefined });
  expect(value?.follow).toBe(false);
});

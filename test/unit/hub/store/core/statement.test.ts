/** Named parameters and column lists of the statements in `sql/`. */
import { expect, test } from 'vitest';
import { deployments } from '../../../../../src/hub/store/core/schema.ts';
import { assembled, columns, statement, valuesOf } from '../../../../../src/hub/store/core/statement.ts';

test('numbers the parameters in the order of their first use', () => {
  const found = statement<{ id: string; name: string }>(
    'example',
    `SELECT :id::uuid, 'x', '{"a": 1}'::jsonb WHERE n = :name OR n = :id`,
  );
  expect(found.text).toBe(`SELECT $1::uuid, 'x', '{"a": 1}'::jsonb WHERE n = $2 OR n = $1`);
  expect(valuesOf(found, { name: 'n', id: 'i' })).toEqual(['i', 'n']);
});

test('selects columns under the names of the schema', () => {
  expect(columns(deployments, 'd', ['id', 'tenantId'])).toBe('d.id AS "id", d.tenant_id AS "tenantId"');
});

test('names an assembled statement by its text, up to a limit', () => {
  const statementOf = assembled<{ id: string }>('example');
  const [first, second] = [statementOf('SELECT 1'), statementOf('SELECT 2')];
  expect(second.name).not.toBe(first.name);
  expect(statementOf('SELECT 1')).toBe(first);
  for (let n = 0; n < 1_000; n += 1) statementOf(`SELECT ${n}`);
  const { name, text, parameters } = statementOf('SELECT :id, 1001');
  expect({ name, text, parameters }).toEqual({ name: null, text: 'SELECT $1, 1001', parameters: ['id'] });
  expect(statementOf('SELECT 1')).toBe(first);
});

test('rejects values without one of the parameters', () => {
  const found = statement<{ id: string | null }>('example', 'SELECT :id::uuid');
  expect(valuesOf(found, { id: null })).toEqual([null]);
  expect(() => valuesOf(found, {} as { id: null })).toThrow(
    'failed to run example: the parameter id has no value',
  );
});

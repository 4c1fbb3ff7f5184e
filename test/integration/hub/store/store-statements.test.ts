/** The statements in `sql/`, prepared against the real schema. */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Statement } from '../../../../src/hub/store/core/statement.ts';
import { type StoreFixture, startStore } from '../../harness/store.ts';

const FOLDER = new URL('../../../../src/hub/store/sql/', import.meta.url);

const isStatement = (value: unknown): value is Statement<object, unknown> =>
  typeof value === 'object' && value !== null && 'text' in value && 'parameters' in value;

/** All statements that the modules in `sql/` and its folders export. */
async function statements(): Promise<Statement<object, unknown>[]> {
  const modules = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => import(new URL(file, FOLDER).href));
  return (await Promise.all(modules)).flatMap((module: object) => Object.values(module).filter(isStatement));
}

const all = await statements();

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.stop());

test('no two statements have the same name', () => {
  const names = all.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});

test.for(all)('PostgreSQL prepares $name', async ({ name, text, parameters }) => {
  await store.sql(`PREPARE check_${name} AS ${text}`);
  const [prepared] = await store.sql<{ count: number }>(
    'SELECT cardinality(parameter_types) AS count FROM pg_prepared_statements WHERE name = $1',
    [`check_${name}`],
  );
  expect(prepared).toEqual({ count: parameters.length });
});

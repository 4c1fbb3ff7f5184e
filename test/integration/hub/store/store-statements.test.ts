/** The statements in `sql/`, prepared against the real schema. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type StoreFixture, startStore } from '../../harness/store.ts';
import { allStatements, listStatements } from '../../harness/store-statements.ts';

const all = [...(await allStatements()), ...listStatements()];

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

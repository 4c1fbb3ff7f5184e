/**
 * The plans of the statements in `sql/` at 100,000 deployments: no plan reads a whole large table. The generic plan is
 * checked, which a connection keeps for all values of the parameters.
 */
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type StoreFixture, startStore } from '../../harness/store.ts';
import { fillStore } from '../../harness/store-fill.ts';
import { allStatements, listStatements } from '../../harness/store-statements.ts';

const DEPLOYMENTS = 100_000;

const LARGE: ReadonlySet<string> = new Set([
  'deployments',
  'revisions',
  'secret_sets',
  'tracing_projects',
  'events',
  'tombstones',
]);

/** Statements that run in transactions with `byIndex`, in which the planner avoids sequential scans. */
const BY_INDEX: ReadonlySet<string> = new Set([
  // Hand-out (listener-long-poll.ts).
  'due_work',
  'load_work',
  'hand_out',
  'take_leftovers',
  // Reports (listener-protocol-routes.ts).
  'accept_report',
  'lock_reported',
  'reported_revisions',
  'write_facts',
  'move_revisions',
  'write_builds',
  'write_built_images',
  'wake_listeners',
  'resolve_images',
  'unrecorded_lookups',
  'secrets_of_revisions',
]);

/** Statements that read a whole table, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {};

const all = [...(await allStatements()), ...listStatements()].flatMap(({ name, text, parameters }) =>
  name === null ? [] : [{ name, text, parameters }],
);

let store: StoreFixture;
let client: pg.Client;
beforeAll(async () => {
  store = await startStore();
  client = new pg.Client({ connectionString: store.url });
  await client.connect();
  await fillStore(client, DEPLOYMENTS);
  await client.query(`SET berth.tenant_id = '*'; SET plan_cache_mode = force_generic_plan`);
}, 120_000);
afterAll(async () => {
  await client?.end();
  await store?.stop();
});

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Large tables that a plan reads completely. */
function scansOf(node: PlanNode): string[] {
  const table = node['Relation Name'] ?? '';
  const own = node['Node Type'] === 'Seq Scan' && LARGE.has(table) ? [table] : [];
  return [...own, ...(node.Plans ?? []).flatMap(scansOf)];
}

/** The generic plan does not depend on the values of the parameters, so they are NULL. */
async function planOf(name: string, text: string, parameters: number): Promise<PlanNode> {
  await client.query(`PREPARE ${name} AS ${text}`);
  const values = Array.from({ length: parameters }, () => 'NULL').join(', ');
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
    `EXPLAIN (FORMAT JSON) EXECUTE ${name}${parameters === 0 ? '' : `(${values})`}`,
  );
  const [plan] = rows[0]?.['QUERY PLAN'] ?? [];
  if (plan === undefined) throw new Error(`PostgreSQL returned no plan for ${name}`);
  return plan.Plan;
}

test.for(all)('$name reads no large table completely', async ({ name, text, parameters }) => {
  const planning = BY_INDEX.has(name) ? 'off' : 'on';
  await client.query(`SET enable_seqscan = ${planning}`);
  const scans = scansOf(await planOf(name, text, parameters.length));
  if (EXCEPTIONS[name] === undefined) expect(scans).toEqual([]);
  else expect(scans, 'the exception is not needed').not.toEqual([]);
});

test('each name of a list above is the name of a statement', () => {
  const names = new Set(all.map(({ name }) => name));
  expect([...BY_INDEX, ...Object.keys(EXCEPTIONS)].filter((name) => !names.has(name))).toEqual([]);
});

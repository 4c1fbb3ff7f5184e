/**
 * The plans of the statements in `sql/` at 100,000 deployments: no plan reads a whole large table. The generic plan is
 * checked, which a connection keeps for all values of the parameters.
 */
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Reader, Transaction } from '../../../../src/hub/store/core/database.ts';
import { drizzle } from '../../../../src/hub/store/core/drizzle.ts';
import type { EventFilter } from '../../../../src/hub/store/events/event-filter.ts';
import { BEFORE_ALL, newestPlaceQuery } from '../../../../src/hub/store/events/event-follow.ts';
import { eventListQuery } from '../../../../src/hub/store/events/event-list.ts';
import {
  findTask,
  handOutTasks,
  listTasks,
  lockRunningTasks,
  readOrders,
  removeOldTasks,
} from '../../../../src/hub/store/tasks/tasks.ts';
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
  'tasks',
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
const EXCEPTIONS: Readonly<Record<string, string>> = {
  count_deployments: 'Fleet metrics count all deployments, at most once for each collection.',
  requeue_pull_secrets:
    'An administrator replaces the key of the registry, so each deployment with a repository gets new credentials.',
  requeue_old_builds: 'The hourly housekeeping finds all unfinished builds. They have no index.',
  resync_projects: 'An administrator sends all tracing projects again.',
};

const all = [...(await allStatements()), ...listStatements()].flatMap(({ name, text, parameters }) =>
  name === null ? [] : [{ name, text, parameters }],
);

let store: StoreFixture;
let client: pg.Client;
/** Indexes of large tables with all rows, which partial indexes do not have. */
let indexes: ReadonlySet<string>;
beforeAll(async () => {
  store = await startStore();
  client = new pg.Client({ connectionString: store.url });
  await client.connect();
  await fillStore(client, DEPLOYMENTS);
  const { rows } = await client.query<{ name: string }>(
    `SELECT indexrelid::regclass::text AS name FROM pg_index
     WHERE indpred IS NULL AND indrelid::regclass::text = ANY($1::text[])`,
    [[...LARGE]],
  );
  indexes = new Set(rows.map(({ name }) => name));
  await client.query(`SET berth.tenant_id = '*'; SET plan_cache_mode = force_generic_plan`);
}, 120_000);
afterAll(async () => {
  await client?.end();
  await store?.stop();
});

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Whether a node reads a whole table: a sequential scan, or a scan of an index of all rows without a condition. */
function isFullScan(node: PlanNode): boolean {
  if (node['Node Type'] === 'Seq Scan') return LARGE.has(node['Relation Name'] ?? '');
  const { 'Index Name': index, 'Index Cond': condition } = node;
  return index !== undefined && condition === undefined && indexes.has(index);
}

/** The nodes of a plan that read a large table completely. */
const fullScans = (node: PlanNode): string[] => [
  ...(isFullScan(node) ? [`${node['Node Type']} of ${node['Relation Name'] ?? node['Index Name']}`] : []),
  ...(node.Plans ?? []).flatMap(fullScans),
];

const indexesOf = (node: PlanNode): string[] => [
  ...(node['Index Name'] === undefined ? [] : [node['Index Name']]),
  ...(node.Plans ?? []).flatMap(indexesOf),
];

async function explain(text: string, values: unknown[] = []): Promise<PlanNode> {
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(text, values);
  const [plan] = rows[0]?.['QUERY PLAN'] ?? [];
  if (plan === undefined) throw new Error(`PostgreSQL returned no plan for ${text}`);
  return plan.Plan;
}

/** The generic plan does not depend on the values of the parameters, so they are NULL. */
async function planOf(name: string, text: string, parameters: number): Promise<PlanNode> {
  await client.query(`PREPARE ${name} AS ${text}`);
  const values = Array.from({ length: parameters }, () => 'NULL').join(', ');
  return explain(`EXPLAIN (FORMAT JSON) EXECUTE ${name}${parameters === 0 ? '' : `(${values})`}`);
}

async function fullScansOf({ name, text, parameters }: (typeof all)[number]): Promise<string[]> {
  await client.query(`SET enable_seqscan = ${BY_INDEX.has(name) ? 'off' : 'on'}`);
  return fullScans(await planOf(name, text, parameters.length));
}

test.for(all.filter(({ name }) => EXCEPTIONS[name] === undefined))(
  '$name reads no large table completely',
  async (each) => {
    expect(await fullScansOf(each)).toEqual([]);
  },
);

test.for(all.filter(({ name }) => EXCEPTIONS[name] !== undefined))(
  'the exception $name reads a large table completely',
  async (each) => {
    expect(await fullScansOf(each)).not.toEqual([]);
  },
);

const TENANT = '01990000-0000-7000-8000-000000000001';
const EVENT = '01990006-0000-7000-8000-000000010000';
const today: EventFilter = { since: new Date(Date.now() - 24 * 3_600_000), until: new Date() };
const everything: EventFilter = { ...today, deploymentId: EVENT, reasons: ['Created'] };

interface EventListCase {
  readonly what: string;
  readonly tenantId: string | null;
  readonly filter: EventFilter;
  /** The cursors: absent for the first page. */
  readonly pages?: readonly (string | undefined)[];
}

const EVENT_LISTS: readonly EventListCase[] = [
  { what: 'the events of a tenant', tenantId: TENANT, filter: {} },
  // The first page comes from the end of the index of ids, and has no condition.
  { what: 'the next page of the platform', tenantId: null, filter: {}, pages: [EVENT] },
  { what: 'the events of a day', tenantId: TENANT, filter: today },
  { what: 'the events of a day of the platform', tenantId: null, filter: today },
  { what: 'events with a rare reason', tenantId: TENANT, filter: { reasons: ['Deleted'] } },
  { what: 'events with all filters', tenantId: TENANT, filter: everything },
];

test.for(EVENT_LISTS)('the list of $what reads no large table completely', async (each) => {
  const { tenantId, filter, pages = [undefined, EVENT] } = each;
  await client.query('SET enable_seqscan = on');
  for (const before of pages) {
    const page = { limit: 21, offset: 0, before };
    const { sql, params } = await store.database.platform.read(async (reader) =>
      eventListQuery(reader, tenantId, filter, page).toSQL(),
    );
    expect(fullScans(await explain(`EXPLAIN (FORMAT JSON) ${sql}`, params))).toEqual([]);
  }
});

interface RareReason {
  readonly what: string;
  readonly index: string;
  query(reader: Reader): { toSQL(): { sql: string; params: unknown[] } };
}

const RARE: EventFilter = { reasons: ['Patched'] };
const RARE_REASONS: readonly RareReason[] = [
  {
    what: 'the list',
    index: 'events_by_tenant_reason',
    query: (reader) => eventListQuery(reader, TENANT, RARE, { limit: 21, offset: 0 }),
  },
  {
    what: 'a follower',
    index: 'events_by_tenant_reason_position',
    query: (reader) =>
      newestPlaceQuery(reader, TENANT, RARE, { after: BEFORE_ALL, count: 5, settled: 1_000_000 }),
  },
];

test.for(RARE_REASONS)('$what finds rare events by the index of reasons', async ({ query, index }) => {
  await client.query('SET enable_seqscan = on');
  // Other tenants have the reason often, so its frequency does not show that this tenant has no such event.
  await client.query(
    `INSERT INTO events (id, tenant_id, actor_kind, reason, message)
     SELECT gen_random_uuid(), tenant_id, 'system', 'Patched', 'Changed.' FROM events WHERE tenant_id <> $1 LIMIT 50000`,
    [TENANT],
  );
  await client.query('ANALYZE events');
  const { sql, params } = await store.database.platform.read(async (reader) => query(reader).toSQL());
  const plan = await explain(`EXPLAIN (FORMAT JSON) ${sql}`, params);
  expect(indexesOf(plan)).toEqual([index]);
});

const TASK = '01990008-0000-7000-8000-000000010000';
const LISTENER = '01990001-0000-7000-8000-000000000001';

interface TaskCase {
  readonly what: string;
  run(transaction: Transaction): Promise<unknown>;
}
const TASK_CASES: readonly TaskCase[] = [
  { what: 'a list', run: (reader) => listTasks(reader, TENANT, EVENT, { limit: 20, offset: 0 }) },
  { what: 'one task', run: (reader) => findTask(reader, TENANT, EVENT, TASK) },
  { what: 'a poll of a listener', run: (reader) => readOrders(reader, LISTENER, 100) },
  { what: 'the start of orders', run: (transaction) => handOutTasks(transaction, LISTENER) },
  { what: 'the check of the quota', run: (transaction) => lockRunningTasks(transaction, TENANT) },
  { what: 'the bound of the history', run: (transaction) => removeOldTasks(transaction, EVENT) },
];

test.for(TASK_CASES)('$what of tasks reads no large table completely', async ({ run }) => {
  const statements: { text: string; values: unknown[] }[] = [];
  const logger = { logQuery: (text: string, values: unknown[]) => void statements.push({ text, values }) };
  await client.query('SET enable_seqscan = on; BEGIN');
  await run({ drizzle: drizzle(client, { logger }) } as unknown as Transaction);
  await client.query('ROLLBACK');
  expect(statements).not.toEqual([]);
  for (const { text, values } of statements)
    expect(fullScans(await explain(`EXPLAIN (FORMAT JSON) ${text}`, values))).toEqual([]);
});

test('each name of a list above is the name of a statement', () => {
  const names = new Set(all.map(({ name }) => name));
  expect([...BY_INDEX, ...Object.keys(EXCEPTIONS)].filter((name) => !names.has(name))).toEqual([]);
});

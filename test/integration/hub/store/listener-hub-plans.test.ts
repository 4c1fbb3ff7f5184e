/**
 * What PostgreSQL reads for a listener's turn does not grow with the number of deployments: no table is read whole.
 * Statements are prepared once a connection, here while tables are nearly empty, as in a new installation; and how many
 * rows wait for a listener (`generation > acknowledged_generation`) the planner takes for a third of all.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { type Database, openDatabase } from '../../../../src/hub/store/core/database.ts';
import type { DeploymentRecord } from '../../../../src/hub/store/core/records.ts';
import { insertDeployment, updateDesiredState } from '../../../../src/hub/store/deployments/deployments.ts';
import { type HubFixture, observedReport, protocolClient, startHub } from '../../harness/hub.ts';
import { insert, newDeployment, newTenant } from '../../harness/store.ts';

const MANY = 1000;
/** More than the five executions of a statement after which PostgreSQL may keep one plan for all. */
const TURNS = 8;

let hub: HubFixture;
let others: Database;
beforeEach(async () => {
  // One session, which tells at the end what it has read.
  hub = await startHub({ poolSize: 1 });
  others = openDatabase({ url: hub.store.url, poolSize: 1, logger: hub.store.logger });
});
afterEach(async () => {
  await others.close();
  await hub.stop();
});

const query = <Row>(text: string) => others.platform.read((reader) => reader.query<Row>(text));

/** Rows of each table that were read by sequential scans, as far as sessions have reported them. */
async function scanned(): Promise<Record<string, number>> {
  await query('SELECT pg_stat_force_next_flush()');
  const rows = await query<{ name: string; rows: number }>(`
    SELECT relname AS name, seq_tup_read::int AS rows FROM pg_stat_user_tables
    WHERE relname IN ('deployments', 'revisions', 'secret_sets', 'events', 'tracing_projects') ORDER BY relname`);
  return Object.fromEntries(rows.map(({ name, rows: read }) => [name, read]));
}

/** A deployment is made, handed out, seen to run, changed, handed out again and seen once more. */
async function turn(tenantId: string, listener: ReturnType<typeof protocolClient>, name: string) {
  const seen = async (record: DeploymentRecord, number: number) => {
    const { id, generation, latestRevisionId } = record;
    expect((await listener.work()).body.items).toMatchObject([{ deployment_id: id, generation }]);
    const active = { id: latestRevisionId ?? '', number };
    const answer = await listener.report([
      { kind: 'applied', deployment_id: id, generation },
      observedReport(record, { active_revision: active }),
    ]);
    expect(answer.status).toBe(200);
  };
  const record = await insert(hub.store, tenantId, name, { secrets: [{ name: 'TOKEN', value: name }] });
  await seen(record, 1);
  const { sourceConfig, sourceRevisionConfig, secrets } = record;
  const changed = await hub.store.database.forTenant(tenantId).transaction((transaction) =>
    updateDesiredState(transaction, hub.store.box, tenantId, record.id, {
      expectedGeneration: record.generation,
      sourceConfig,
      sourceRevisionConfig,
      secrets: { kind: 'set', id: secrets?.id ?? null },
      imageVersion: null,
      revision: { id: uuidv7(), status: 'QUEUED' },
      actor: { kind: 'system', name: 'test' },
      message: 'changed',
    }),
  );
  await seen(changed, 2);
}

/** So many beside them that are at rest, past the sessions of the hub. */
async function fill(tenantId: string): Promise<void> {
  await others.forTenant(tenantId).transaction(async (transaction) => {
    for (let index = 0; index < MANY; index += 1) {
      const secrets = [{ name: 'TOKEN', value: `${index}` }];
      await insertDeployment(
        transaction,
        hub.store.box,
        tenantId,
        newDeployment(`rest-${index}`, { secrets }),
      );
    }
  });
  await query(`UPDATE revisions SET status = 'DEPLOYED', started_at = now() WHERE status = 'QUEUED'`);
  await query(`UPDATE deployments SET acknowledged_generation = generation, active_revision_id = latest_revision_id,
    handed_out = true, next_attempt_at = now() - interval '1 hour' WHERE name LIKE 'rest-%'`);
}

it.each([
  ['without statistics', false],
  ['with statistics', true],
])("a listener's turn reads no table completely (%s)", async (_, analyzed) => {
  const { tenantId } = await newTenant(hub.store);
  const listener = protocolClient(hub, 'a');
  await listener.lease();
  const turns = async (prefix: string) => {
    for (let index = 0; index < TURNS; index += 1) await turn(tenantId, listener, `${prefix}-${index}`);
  };
  await turns('first');
  await fill(tenantId);
  if (analyzed) await query('ANALYZE');
  const before = await scanned();
  await turns('second');
  await hub.store.sql('SELECT pg_stat_force_next_flush()');
  const after = await scanned();
  for (const [name, rows] of Object.entries(after))
    expect.soft(rows - (before[name] ?? 0), name).toBeLessThan(MANY);
});

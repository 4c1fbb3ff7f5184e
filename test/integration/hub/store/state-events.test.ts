import { afterAll, beforeAll, expect, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import type {
  DeploymentRecord,
  DesiredChange,
  NewDeployment,
} from '../../../../src/hub/store/core/records.ts';
import {
  removeRecord,
  requestDeletion,
  restoreDeployment,
  updateDesiredState,
} from '../../../../src/hub/store/deployments/deployments.ts';
import { recordLostListeners } from '../../../../src/hub/store/listeners/listener-loss.ts';
import { type HubFixture, observedReport, protocolClient, startHub } from '../../harness/hub.ts';
import { insert, newTenant } from '../../harness/store.ts';

/**
 * PostgreSQL itself notes each change of a status with its transaction; for each there has to be a row of history of the
 * same transaction that says the same. Whoever forgets one in a new statement fails here once the statement is run here.
 */

const AUDIT = `
CREATE TABLE audit (n bigserial, txid text, kind text, id uuid, deployment_id uuid, from_status text, to_status text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  former text := NULL; present text := NULL; whose uuid; deployment uuid;
BEGIN
  IF TG_TABLE_NAME = 'deployments' THEN
    IF TG_OP <> 'INSERT' THEN former := OLD.recorded_status; whose := OLD.id; END IF;
    IF TG_OP <> 'DELETE' THEN present := NEW.recorded_status; whose := NEW.id; END IF;
    deployment := whose;
  ELSE
    IF TG_OP = 'UPDATE' THEN former := OLD.status; END IF;
    present := NEW.status; whose := NEW.id; deployment := NEW.deployment_id;
  END IF;
  IF former IS DISTINCT FROM present THEN
    INSERT INTO audit (txid, kind, id, deployment_id, from_status, to_status)
    VALUES (txid_current()::text, TG_TABLE_NAME, whose, deployment, former, present);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON deployments FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER audit AFTER INSERT OR UPDATE ON revisions FOR EACH ROW EXECUTE FUNCTION note()`;

/** Changes of a status without a row of history of the same transaction. */
const UNTOLD = `
SELECT a.kind, a.from_status, a.to_status FROM audit a WHERE NOT EXISTS (
  SELECT 1 FROM events e, LATERAL (SELECT CASE
      WHEN a.kind = 'revisions' THEN coalesce(e.details -> 'revision_status', e.details)
      ELSE coalesce(e.details -> 'status', e.details) END AS said) s
  WHERE e.deployment_id = a.deployment_id AND e.xmin::text = a.txid AND e.reason <> ''
    AND (a.kind = 'deployments' OR e.revision_id = a.id)
    AND (s.said ->> 'from' IS NOT DISTINCT FROM a.from_status OR
      -- Of a deployment that nobody sees the history tells UNKNOWN, which is recorded nowhere.
      (a.kind = 'deployments' AND s.said ->> 'from' = 'UNKNOWN'))
    AND s.said ->> 'to' IS NOT DISTINCT FROM a.to_status)
ORDER BY a.n`;

const STORY = `
SELECT reason, coalesce(details -> 'status', details) ->> 'from' AS from_status,
  coalesce(details -> 'status', details) ->> 'to' AS to_status
FROM events WHERE deployment_id = $1 AND (revision_id IS NULL OR details ? 'status') AND
  (details ? 'to' OR details ? 'status') ORDER BY id`;

let hub: HubFixture;
let tenantId: string;
let listener: ReturnType<typeof protocolClient>;

beforeAll(async () => {
  hub = await startHub();
  for (const statement of AUDIT.split(/;\n(?=CREATE)/)) await hub.store.sql(statement);
  ({ tenantId } = await newTenant(hub.store));
  listener = protocolClient(hub, 'a');
  await listener.lease();
});
afterAll(() => hub.stop());

const ACTOR = { kind: 'system' } as const;
const scope = () => hub.store.database.forTenant(tenantId);
const deploy = (name: string, more: Partial<NewDeployment> = {}) => insert(hub.store, tenantId, name, more);

const change = (record: DeploymentRecord, more: Partial<DesiredChange> = {}) =>
  scope().transaction((transaction) =>
    updateDesiredState(transaction, hub.store.box, tenantId, record.id, {
      expectedGeneration: record.generation,
      sourceConfig: record.sourceConfig,
      sourceRevisionConfig: record.sourceRevisionConfig,
      secrets: { kind: 'set', id: null },
      imageVersion: null,
      revision: { id: uuidv7(), status: 'QUEUED' },
      actor: ACTOR,
      message: 'changed',
      ...more,
    }),
  );

const conditions = (status: 'True' | 'False') =>
  ['DatabaseReady', 'CacheReady'].map((type) => ({
    type,
    status,
    reason: status === 'True' ? 'DatabaseAvailable' : 'DatabaseStarting',
    message: 'm',
    lastTransitionTime: new Date().toISOString(),
  }));

const observed = (record: DeploymentRecord, more: object = {}) =>
  observedReport(record, { conditions: conditions('True'), ...more });
const latest = (record: DeploymentRecord, number = 1) => ({ id: record.latestRevisionId ?? '', number });
const expire = () => hub.store.sql("UPDATE listeners SET lease_expires_at = now() - interval '1 second'");
const recordLoss = () => hub.store.database.platform.transaction(recordLostListeners);
const story = async ({ id }: DeploymentRecord) =>
  (
    await hub.store.sql<{ reason: string; from_status: string | null; to_status: string | null }>(STORY, [id])
  ).map(({ reason, from_status, to_status }) => `${from_status} → ${to_status} ${reason}`);
const untold = () => hub.store.sql(UNTOLD);

test('every status from creation to removal has an event that begins where the previous one ended', async () => {
  const shop = await deploy('shop');
  await listener.work();
  await listener.report([observed(shop, { conditions: conditions('False') })]);
  await listener.report([observed(shop, { rollout_revision: latest(shop) })]);
  await expire();
  await recordLoss();
  await listener.lease();
  await listener.report([observed(shop, { active_revision: latest(shop) })]);
  await listener.lease({ cluster_reachable: false });
  await listener.lease();
  await listener.report([observed(shop, { active_revision: latest(shop), off: true })]);
  await listener.report([observed(shop, { active_revision: latest(shop) })]);
  await listener.report([{ kind: 'applied', deployment_id: shop.id, generation: 1 }]);
  await listener.inventory([], true);
  const next = await change(shop);
  await listener.work();
  await listener.report([
    observed(next, { active_revision: latest(shop), rollout_revision: latest(next, 2) }),
  ]);
  const failed = { ...latest(next, 2), reason: 'CrashLoop', message: 'api: exit 1' };
  await listener.report([observed(next, { active_revision: latest(shop), failed_revision: failed })]);
  const request = { deleteTracingProject: false, graceSeconds: 60, actor: ACTOR };
  await scope().transaction((tx) => requestDeletion(tx, tenantId, shop.id, request));
  await scope().transaction((tx) => restoreDeployment(tx, tenantId, shop.id, ACTOR));
  await expire();
  await recordLoss();
  await scope().transaction((tx) => requestDeletion(tx, tenantId, shop.id, request));
  await listener.lease();
  await scope().transaction((tx) => removeRecord(tx, tenantId, shop.id, ACTOR));
  expect(await untold()).toEqual([]);
  expect(await story(shop)).toEqual([
    'null → AWAITING_DATABASE Created',
    'AWAITING_DATABASE → READY DatabaseAvailable',
    'READY → UNKNOWN ListenerLost',
    'UNKNOWN → READY ListenerReturned',
    'READY → UNKNOWN ClusterUnreachable',
    'UNKNOWN → READY ListenerReturned',
    'READY → UNUSED SwitchedOff',
    'UNUSED → READY DatabaseAvailable',
    'READY → AWAITING_DATABASE ObjectRecreated',
    'AWAITING_DATABASE → READY DatabaseAvailable',
    'READY → AWAITING_DELETE DeletionRequested',
    'AWAITING_DELETE → READY Restored',
    'READY → UNKNOWN ListenerLost',
    'UNKNOWN → AWAITING_DELETE DeletionRequested',
    'AWAITING_DELETE → null Deleted',
  ]);
  const lost = await hub.store.sql<{ message: string }>(
    `SELECT details ->> 'from' || ' ' || (details ->> 'to') AS message FROM events
     WHERE revision_id = $1 AND reason IN ('ListenerLost', 'ListenerReturned') ORDER BY id`,
    [shop.latestRevisionId],
  );
  expect(lost.map(({ message }) => message)).toEqual(['DEPLOYING UNKNOWN', 'UNKNOWN DEPLOYING']);
});

test('a deployment is UNUSED while it has no revision, and again when its only build fails', async () => {
  const empty = await deploy('empty', { revision: null });
  await change(empty);
  expect(await story(empty)).toEqual(['null → UNUSED Created', 'UNUSED → AWAITING_DATABASE Patched']);
  const built = await deploy('built', {
    source: 'git_host',
    revision: { id: uuidv7(), status: 'AWAITING_BUILD' },
  });
  for (const phase of ['Running', 'Failed']) {
    const build = { revisionId: latest(built).id, number: 1, phase, reason: 'RefNotFound', message: 'no x' };
    await listener.report([observed(built, { conditions: [], build })]);
  }
  expect(await story(built)).toEqual([
    'null → AWAITING_DATABASE Created',
    'AWAITING_DATABASE → UNUSED RefNotFound',
  ]);
  expect(await untold()).toEqual([]);
});

test('every revision that is skipped, interrupted or queued while suspended has an event', async () => {
  const first = await deploy('busy');
  const second = await change(first);
  await listener.work();
  await listener.report([observed(second, { rollout_revision: latest(second, 2) })]);
  const third = await change(second);
  await listener.work();
  await listener.report([observed(third, { rollout_revision: latest(third, 3) })]);
  await listener.report([observed(third, { off: true })]);
  const statuses = await hub.store.sql<{ status: string }>(
    'SELECT status FROM revisions WHERE deployment_id = $1 ORDER BY number',
    [first.id],
  );
  expect(statuses.map(({ status }) => status)).toEqual(['SKIPPED', 'INTERRUPTED', 'QUEUED']);
  expect(await untold()).toEqual([]);
});

test('the loss of a listener is recorded once for each of many deployments', async () => {
  const count = 300;
  await Promise.all(Array.from({ length: count }, (_, index) => deploy(`many-${index}`)));
  await hub.store.sql('UPDATE deployments SET observed_at = now(), data_ready = true');
  await hub.store.sql('TRUNCATE audit');
  const countLosses = async () =>
    Number(
      (
        await hub.store.sql<{ n: string }>(
          "SELECT count(DISTINCT deployment_id) AS n FROM events WHERE reason = 'ListenerLost' AND details ->> 'from' = 'READY'",
        )
      )[0]?.n,
    );
  const before = await countLosses();
  await expire();
  await Promise.all([recordLoss(), recordLoss()]);
  expect((await countLosses()) - before).toBeGreaterThanOrEqual(count);
  const doubled = await hub.store.sql(
    `SELECT deployment_id FROM events WHERE reason = 'ListenerLost' AND revision_id IS NULL AND message LIKE 'Status%'
       AND deployment_id IN (SELECT id FROM deployments WHERE name LIKE 'many-%') GROUP BY deployment_id HAVING count(*) > 1`,
  );
  expect(doubled).toEqual([]);
});

import type { RevisionBuild } from '../../../domain/builds/build.ts';
import type { Condition } from '../../../domain/conditions/conditions.ts';
import type { ReportedFailure } from '../../../domain/conditions/failure-source.ts';
import type { ReportedSymptom } from '../../../domain/conditions/symptoms.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type {
  ClusterReport,
  DeploymentFacts,
  OutcomeMove,
} from '../../../domain/deployment/cluster-report.ts';
import { isTerminalStatus, REVISION_STATUSES, type RevisionStatus } from '../../../domain/revision/states.ts';
import type { Transaction } from '../core/database.ts';
import { fromStored, type Stored, toStored } from '../core/stored-failure.ts';
import { DESIRED_REVISION } from './listener-work-rows.ts';

/**
 * Reads and writes the rows that reports affect. One query per table reads or writes all these rows, independent of the
 * number of reports.
 */

export interface ReportedDeployment {
  id: string;
  tenantId: string;
  facts: DeploymentFacts;
}

interface FactsRow {
  id: string;
  tenant_id: string;
  app_name: string;
  namespace: string;
  deleting: boolean;
  switched_off: boolean;
  purge_in_ms: number | null;
  generation: number;
  acknowledged_generation: number;
  attempts: number;
  work_version: number;
  has_runnable_revision: boolean;
  active_revision_id: string | null;
  conditions: Condition[];
  url: string | null;
  observed_generation: number | null;
  observed_off: boolean;
  data_ready: boolean;
  observed_at: Date | null;
  in_place_failure: Stored<ReportedFailure> | null;
  symptoms: Stored<ReportedSymptom>[] | null;
  volume_gi: number | null;
}

/**
 * The rows are locked in the order of their ids, as in all code that locks several deployments. With these locks, no
 * other transaction can change the deployments or their revisions.
 */
const LOCK = `
SELECT id, tenant_id, app_name, namespace, delete_requested_at IS NOT NULL AS deleting,
  (source_config -> 'resource_spec' ->> 'max_scale' = '0') IS TRUE AS switched_off,
  CASE WHEN purge_after > now() THEN extract(epoch FROM purge_after - now())::float8 * 1000 END AS purge_in_ms, generation,
  acknowledged_generation, attempts, work_version, has_runnable_revision, active_revision_id, conditions, url, observed_generation,
  observed_off, data_ready, observed_at, in_place_failure, symptoms, volume_gi
FROM deployments WHERE listener_id = $1 AND id = ANY($2::uuid[])
ORDER BY id FOR UPDATE`;

interface RevisionRow {
  id: string;
  deployment_id: string;
  number: number;
  status: RevisionStatus;
  build: RevisionBuild | null;
  started: boolean;
  wanted: boolean;
  settled: boolean;
}

/** Only a failed build can result in no runnable revision, so this is queried only if reports contain builds. */
const SETTLED = `(d.source = 'git_host' AND EXISTS (SELECT 1 FROM revisions o WHERE o.deployment_id = d.id
  AND o.status IN ('DEPLOYED', 'DEPLOY_FAILED', 'INTERRUPTED')))`;

const REVISIONS = `
SELECT r.id, r.deployment_id, r.number, r.status, r.build, r.started_at IS NOT NULL AS started, (r.id = d.wanted_id) IS TRUE AS wanted, d.settled
FROM (SELECT d.id, d.active_revision_id, ${DESIRED_REVISION} AS wanted_id, ${SETTLED} AS settled FROM deployments d
    WHERE d.id = ANY($1::uuid[])) AS d
  JOIN revisions r ON r.deployment_id = d.id AND r.deployment_id = ANY($1::uuid[])
WHERE (r.status = ANY($2::text[]) OR r.id = ANY($3::uuid[]) OR r.id = d.wanted_id OR r.id = d.active_revision_id)
ORDER BY r.deployment_id, r.number`;

const NOT_TERMINAL = REVISION_STATUSES.filter((status) => !isTerminalStatus(status));

/** Revision ids in reports, if they are valid UUIDs. The ids come from the custom resource, so they can be any text. */
function namedRevisions(reports: readonly ClusterReport[]): string[] {
  return reports
    .flatMap((report) => (report.kind === 'observed' ? [report.active, report.rollout, report.failed] : []))
    .flatMap((ref) => (ref !== null && UUID_PATTERN.test(ref.id) ? [ref.id] : []));
}

function toFacts(row: FactsRow, revisions: readonly RevisionRow[], listenerLost: boolean): DeploymentFacts {
  const active = revisions.find(({ id }) => id === row.active_revision_id);
  return {
    appName: row.app_name,
    namespace: row.namespace,
    listenerLost,
    deleting: row.deleting,
    switchedOff: row.switched_off,
    purgeInMs: row.purge_in_ms,
    generation: row.generation,
    acknowledgedGeneration: row.acknowledged_generation,
    attempts: row.attempts,
    workVersion: row.work_version,
    hasRunnableRevision: row.has_runnable_revision,
    hasSettledRevision: revisions.some(({ settled }) => settled),
    active: active === undefined ? null : { id: active.id, number: active.number },
    inPlaceFailure: row.in_place_failure && fromStored<ReportedFailure>(row.in_place_failure),
    symptoms: (row.symptoms ?? []).map((symptom) => fromStored<ReportedSymptom>(symptom)),
    volumeGi: row.volume_gi,
    wantedRevisionId: revisions.find(({ wanted }) => wanted)?.id ?? null,
    conditions: row.conditions,
    observation:
      row.observed_at === null
        ? null
        : {
            generation: row.observed_generation ?? 0,
            conditions: row.conditions,
            url: row.url,
            off: row.observed_off,
            dataReady: row.data_ready,
            observedAt: row.observed_at,
          },
    revisions: revisions.map(({ id, number, status, build, started }) => ({
      id,
      number,
      status,
      build,
      started,
    })),
  };
}

/**
 * Locks and loads the deployments of this listener that the reports affect.
 * @param listenerLost whether an event recorded the loss of the listener, but not its return yet
 */
export async function loadFacts(
  transaction: Transaction,
  listenerId: string,
  reports: readonly ClusterReport[],
  listenerLost: boolean,
): Promise<ReportedDeployment[]> {
  const ids = [...new Set(reports.map(({ deploymentId }) => deploymentId))];
  const rows = await transaction.query<FactsRow>(LOCK, [listenerId, ids]);
  if (rows.length === 0) return [];
  const found = rows.map(({ id }) => id);
  // A separate statement is used, so that it sees changes that were committed while the transaction waited for the
  // lock.
  const revisions = Map.groupBy(
    await transaction.query<RevisionRow>(REVISIONS, [found, NOT_TERMINAL, namedRevisions(reports)]),
    (revision) => revision.deployment_id,
  );
  return rows.map((row) => ({
    id: row.id,
    tenantId: row.tenant_id,
    facts: toFacts(row, revisions.get(row.id) ?? [], listenerLost),
  }));
}

export interface FactsChange {
  deployment: ReportedDeployment;
  facts: DeploymentFacts;
  moves: readonly OutcomeMove[];
  retryAfterMs: number | null;
}

/** Also filters by id; see HANDED_OUT in listener-work.ts. */
const WRITE = `
UPDATE deployments d SET generation = v.generation, acknowledged_generation = v.acknowledged_generation, attempts = v.attempts,
  next_attempt_at = CASE WHEN v.retry_after_ms IS NULL THEN d.next_attempt_at
    ELSE now() + make_interval(secs => v.retry_after_ms / 1000) END,
  handed_out = d.handed_out AND v.retry_after_ms IS NULL,
  active_revision_id = v.active_revision_id, conditions = v.conditions, url = v.url,
  observed_generation = v.observed_generation, observed_off = v.observed_off, data_ready = v.data_ready,
  observed_at = v.observed_at, in_place_failure = v.in_place_failure, symptoms = v.symptoms, volume_gi = v.volume_gi,
  has_runnable_revision = v.has_runnable_revision,
  updated_at = CASE WHEN v.active_revision_id IS DISTINCT FROM d.active_revision_id OR v.generation > d.generation
    THEN now() ELSE d.updated_at END
FROM jsonb_to_recordset($1::jsonb) AS v(id uuid, generation int, has_runnable_revision boolean, acknowledged_generation int, attempts int, retry_after_ms float8,
  active_revision_id uuid, conditions jsonb, url text, observed_generation int, observed_off boolean,
  data_ready boolean, observed_at timestamptz, in_place_failure jsonb, symptoms jsonb, volume_gi int)
WHERE d.id = v.id AND d.id = ANY($2::uuid[])`;

const MOVE = `
UPDATE revisions r SET status = v.status, reason = v.reason, message = v.message, updated_at = now(),
  culprit = CASE WHEN v.status IN ('DEPLOY_FAILED', 'BUILD_FAILED') THEN v.failure_source ELSE r.culprit END,
  started_at = CASE WHEN v.started THEN coalesce(r.started_at, now()) ELSE r.started_at END,
  deployed_at = CASE WHEN v.status = 'DEPLOYED' THEN now() ELSE r.deployed_at END
FROM jsonb_to_recordset($1::jsonb) AS v(id uuid, status text, reason text, message text, failure_source jsonb, started boolean)
WHERE r.id = v.id AND r.id = ANY($2::uuid[])`;

/**
 * Writes the changes of reports. The rows are locked since `loadFacts`, so the statements need no further conditions.
 */
export async function writeFacts(transaction: Transaction, changes: readonly FactsChange[]): Promise<void> {
  if (changes.length === 0) return;
  const rows = changes.map(({ deployment, facts, retryAfterMs }) => ({
    id: deployment.id,
    generation: facts.generation,
    has_runnable_revision: facts.hasRunnableRevision,
    acknowledged_generation: facts.acknowledgedGeneration,
    attempts: facts.attempts,
    retry_after_ms: retryAfterMs,
    active_revision_id: facts.active?.id ?? null,
    conditions: facts.conditions,
    url: facts.observation?.url ?? null,
    observed_generation: facts.observation?.generation ?? null,
    observed_off: facts.observation?.off ?? false,
    data_ready: facts.observation?.dataReady ?? false,
    observed_at: facts.observation?.observedAt ?? null,
    in_place_failure: facts.inPlaceFailure && toStored(facts.inPlaceFailure),
    symptoms: (facts.symptoms ?? []).length === 0 ? null : facts.symptoms?.map(toStored),
    volume_gi: facts.volumeGi ?? null,
  }));
  await transaction.query(WRITE, [JSON.stringify(rows), rows.map(({ id }) => id)]);
  // The last of several transitions of one revision.
  const moves = new Map(changes.flatMap(({ moves: made }) => made.map((move) => [move.id, move])));
  if (moves.size === 0) return;
  const started = new Set(
    changes.flatMap(({ moves: made }) => made.flatMap(({ id, to }) => (to === 'DEPLOYING' ? [id] : []))),
  );
  const moved = [...moves.values()].map(({ id, to, reason, message, failureSource }) => ({
    id,
    status: to,
    reason,
    message,
    failure_source: failureSource ?? null,
    started: started.has(id),
  }));
  await transaction.query(MOVE, [JSON.stringify(moved), moved.map(({ id }) => id)]);
}

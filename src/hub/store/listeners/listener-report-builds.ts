import type { RevisionBuild } from '../../../domain/builds/build.ts';
import { canonicalJson } from '../../../domain/core/hash.ts';
import { enqueueCleanings } from '../builds/repository-cleanups.ts';
import type { Transaction } from '../core/database.ts';
import { WORK_CHANNEL } from '../deployments/deployment-write.ts';
import type { FactsChange } from './listener-report-rows.ts';

/**
 * Writes the reported progress and results of builds. The rows are locked. Each statement also filters by id; see
 * HANDED_OUT in listener-work.ts.
 */

const BUILDS = `
UPDATE revisions r SET build = v.build
FROM jsonb_to_recordset($1::jsonb) AS v(id uuid, build jsonb)
WHERE r.id = v.id AND r.id = ANY($2::uuid[])`;

/** The deployment has copies of some values of its latest revision. */
const BUILT = `
WITH built AS (
  SELECT v.id, v.image, jsonb_build_object('image_uri', v.image, 'repo_commit_sha', v.commit) AS config
  FROM jsonb_to_recordset($1::jsonb) AS v(id uuid, image text, commit text)
), revision AS (
  UPDATE revisions r SET resolved_image = built.image, source_revision_config = r.source_revision_config || built.config
  FROM built WHERE r.id = built.id AND r.id = ANY($2::uuid[])
)
UPDATE deployments d SET source_revision_config = d.source_revision_config || built.config
FROM built WHERE d.latest_revision_id = built.id AND d.id = ANY($3::uuid[])`;

const WAKE = `
SELECT pg_notify('${WORK_CHANNEL}', listener_id::text) FROM deployments WHERE id = ANY($1::uuid[]) GROUP BY listener_id`;

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

function changedBuilds({ deployment, facts }: FactsChange): { id: string; build: RevisionBuild | null }[] {
  const before = new Map(
    deployment.facts.revisions.map(({ id, build = null }) => [id, canonicalJson(build)]),
  );
  return facts.revisions
    .map(({ id, build = null }) => ({ id, build }))
    .filter(({ id, build }) => canonicalJson(build) !== before.get(id));
}

/** Writes changes of builds, and notifies the listeners that have new work because of these changes. */
export async function writeBuilds(transaction: Transaction, changes: readonly FactsChange[]): Promise<void> {
  const builds = changes.flatMap(changedBuilds);
  if (builds.length > 0) await transaction.query(BUILDS, [JSON.stringify(builds), idsOf(builds)]);
  const built = changes.flatMap(({ moves }) =>
    moves.flatMap(({ id, built: made }) => (made === undefined ? [] : [{ id, ...made }])),
  );
  const renewed = changes
    .filter(({ moves }) => moves.some(({ built: made }) => made !== undefined))
    .map(({ deployment }) => deployment.id);
  if (built.length > 0) await transaction.query(BUILT, [JSON.stringify(built), idsOf(built), renewed]);
  await enqueueCleanings(transaction, renewed);
  const wanted = changes.filter(({ deployment, facts }) => facts.generation > deployment.facts.generation);
  if (wanted.length === 0) return;
  await transaction.query(WAKE, [wanted.map(({ deployment }) => deployment.id)]);
}

import type { RevisionBuild } from '../../../domain/builds/build.ts';
import { canonicalJson } from '../../../domain/core/hash.ts';
import { enqueueCleanings } from '../builds/repository-cleanups.ts';
import type { Transaction } from '../core/database.ts';
import { wakeListenersStatement } from '../sql/reports/wake-listeners.ts';
import { writeBuildsStatement } from '../sql/reports/write-builds.ts';
import { writeBuiltImagesStatement } from '../sql/reports/write-built-images.ts';
import type { FactsChange } from './listener-report-rows.ts';

/** Writes the reported progress and results of builds. The rows are locked. */

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
  if (builds.length > 0)
    await transaction.run(writeBuildsStatement, {
      builds: JSON.stringify(builds),
      revisionIds: idsOf(builds),
    });
  const built = changes.flatMap(({ moves }) =>
    moves.flatMap(({ id, built: made }) => (made === undefined ? [] : [{ id, ...made }])),
  );
  const renewed = changes
    .filter(({ moves }) => moves.some(({ built: made }) => made !== undefined))
    .map(({ deployment }) => deployment.id);
  if (built.length > 0)
    await transaction.run(writeBuiltImagesStatement, {
      built: JSON.stringify(built),
      revisionIds: idsOf(built),
      deploymentIds: renewed,
    });
  await enqueueCleanings(transaction, renewed);
  const wanted = changes.filter(({ deployment, facts }) => facts.generation > deployment.facts.generation);
  if (wanted.length === 0) return;
  await transaction.run(wakeListenersStatement, {
    deploymentIds: wanted.map(({ deployment }) => deployment.id),
  });
}

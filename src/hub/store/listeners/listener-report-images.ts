import type { Condition, Reason } from '../../../domain/conditions/conditions.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { ClusterReport } from '../../../domain/deployment/cluster-report.ts';
import { pinnedImage } from '../../../domain/net/image-reference.ts';
import type { Transaction } from '../core/database.ts';
import { type Actor, appendEvents, type NewEvent } from '../core/events.ts';
import { resolveImagesStatement } from '../sql/reports/resolve-images.ts';
import { unrecordedLookupsStatement } from '../sql/reports/unrecorded-lookups.ts';
import type { ReportedDeployment } from './listener-report-rows.ts';

/** Writes reported images to rows and history: the digest that a revision runs, or why no digest is known. */

type ResolvedImage = NonNullable<(typeof resolveImagesStatement)['row']>;

/** The accepted reports of one deployment, in their order. */
export interface TakenReports {
  readonly deployment: ReportedDeployment;
  readonly reports: readonly ClusterReport[];
}

interface Unresolved {
  readonly deployment: ReportedDeployment;
  readonly revisionId: string;
  readonly message: string;
}

const imageReady = (conditions: readonly Condition[]) => conditions.find(({ type }) => type === 'ImageReady');

/** Failed lookups whose condition differs from the recorded condition. */
function unresolved({ deployment, reports }: TakenReports): Unresolved[] {
  const last = reports.findLast((report) => report.kind === 'observed');
  const { conditions, wantedRevisionId: revisionId } = deployment.facts;
  const [before, after] = [imageReady(conditions), imageReady(last?.conditions ?? [])];
  if (after?.reason !== ('ImageUnresolved' satisfies Reason) || revisionId === null) return [];
  const isKnown =
    before?.reason === after.reason &&
    before.message === after.message &&
    before.observedGeneration === after.observedGeneration;
  return isKnown ? [] : [{ deployment, revisionId, message: after.message }];
}

async function withoutEvent(transaction: Transaction, all: readonly Unresolved[]): Promise<Unresolved[]> {
  if (all.length === 0) return [];
  const lookups = all.map(({ deployment, revisionId }) => ({
    deploymentId: deployment.id,
    revisionId,
  }));
  const rows = await transaction.run(unrecordedLookupsStatement, { lookups: JSON.stringify(lookups) });
  const left = new Set(rows.map(({ revisionId }) => revisionId));
  return all.filter(({ revisionId }) => left.has(revisionId));
}

async function resolve(transaction: Transaction, taken: readonly TakenReports[]): Promise<ResolvedImage[]> {
  const digests = taken.flatMap(({ deployment, reports }) => {
    const last = reports.findLast((report) => report.kind === 'observed');
    return (last?.images ?? [])
      .filter(({ revisionId, image }) => UUID_PATTERN.test(revisionId) && pinnedImage(image) !== null)
      .map(({ revisionId, image }) => ({ id: revisionId, deploymentId: deployment.id, image }));
  });
  if (digests.length === 0) return [];
  return await transaction.run(resolveImagesStatement, {
    images: JSON.stringify(digests),
    revisionIds: digests.map(({ id }) => id),
  });
}

/** Writes changes of images with their history. The deployments are locked. */
export async function writeImages(
  transaction: Transaction,
  taken: readonly TakenReports[],
  actor: Actor,
): Promise<void> {
  const resolved = (await resolve(transaction, taken)).map(
    ({ id: revisionId, deploymentId, tenantId, number, image }): NewEvent => ({
      tenantId,
      deploymentId,
      revisionId,
      actor,
      reason: 'ImageResolved',
      message: `Revision ${number} runs ${image}.`,
      details: { image },
    }),
  );
  const inVain = (await withoutEvent(transaction, taken.flatMap(unresolved))).map(
    ({ deployment, revisionId, message }): NewEvent => ({
      tenantId: deployment.tenantId,
      deploymentId: deployment.id,
      revisionId,
      actor,
      reason: 'ImageUnresolved',
      message: `The ${message}`,
    }),
  );
  await appendEvents(transaction, [...resolved, ...inVain]);
}

import type { Condition, Reason } from '../../../domain/conditions/conditions.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { ClusterReport } from '../../../domain/deployment/cluster-report.ts';
import { pinnedImage } from '../../../domain/net/image-reference.ts';
import type { Transaction } from '../core/database.ts';
import { type Actor, appendEvents, type NewEvent } from '../core/events.ts';
import type { ReportedDeployment } from './listener-report-rows.ts';

/** Writes reported images to rows and history: the digest that a revision runs, or why no digest is known. */

/** Writes a digest of the requested image. The observed digest replaces an earlier digest. */
const RESOLVED = `
UPDATE revisions r SET resolved_image = v.image
FROM jsonb_to_recordset($1::jsonb) AS v(id uuid, deployment_id uuid, image text)
WHERE r.id = v.id AND r.id = ANY($2::uuid[]) AND r.deployment_id = v.deployment_id AND r.resolved_image IS DISTINCT FROM v.image
  AND split_part(v.image, '@', 1) = split_part(r.source_revision_config->>'image_uri', '@', 1)
RETURNING r.id, r.deployment_id, r.tenant_id, r.number, v.image`;

interface ResolvedRow {
  id: string;
  deployment_id: string;
  tenant_id: string;
  number: number;
  image: string;
}

/** The revisions without an event for this result. */
const WITHOUT_EVENT = `
SELECT v.revision_id FROM jsonb_to_recordset($1::jsonb) AS v(deployment_id uuid, revision_id uuid)
WHERE NOT EXISTS (SELECT 1 FROM events e
  WHERE e.deployment_id = v.deployment_id AND e.revision_id = v.revision_id AND e.reason = 'ImageUnresolved')`;

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
  const asked = all.map(({ deployment, revisionId }) => ({
    deployment_id: deployment.id,
    revision_id: revisionId,
  }));
  const rows = await transaction.query<{ revision_id: string }>(WITHOUT_EVENT, [JSON.stringify(asked)]);
  const left = new Set(rows.map(({ revision_id: id }) => id));
  return all.filter(({ revisionId }) => left.has(revisionId));
}

async function resolve(transaction: Transaction, taken: readonly TakenReports[]): Promise<ResolvedRow[]> {
  const digests = taken.flatMap(({ deployment, reports }) => {
    const last = reports.findLast((report) => report.kind === 'observed');
    return (last?.images ?? [])
      .filter(({ revisionId, image }) => UUID_PATTERN.test(revisionId) && pinnedImage(image) !== null)
      .map(({ revisionId, image }) => ({ id: revisionId, deployment_id: deployment.id, image }));
  });
  if (digests.length === 0) return [];
  return await transaction.query<ResolvedRow>(RESOLVED, [
    JSON.stringify(digests),
    digests.map(({ id }) => id),
  ]);
}

/** Writes changes of images with their history. The deployments are locked. */
export async function writeImages(
  transaction: Transaction,
  taken: readonly TakenReports[],
  actor: Actor,
): Promise<void> {
  const resolved = (await resolve(transaction, taken)).map(
    (row): NewEvent => ({
      tenantId: row.tenant_id,
      deploymentId: row.deployment_id,
      revisionId: row.id,
      actor,
      reason: 'ImageResolved',
      message: `Revision ${row.number} runs ${row.image}.`,
      details: { image: row.image },
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

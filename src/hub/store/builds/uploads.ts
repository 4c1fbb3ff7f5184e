import type { SourceRevisionConfig } from '../../../domain/deployment/deployment.ts';
import type { Upload } from '../../../domain/uploads/upload.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, desc, eq, isNotNull, ne, sql } from '../core/drizzle.ts';
import { deployments, revisions, uploads } from '../core/schema.ts';
import { beginUploadStatement } from '../sql/builds/begin-upload.ts';
import { claimUploadsStatement, enqueueUploadsStatement } from '../sql/builds/claim-uploads.ts';

/** Uploaded folders. Their content is in the platform's registry. Callers lock the deployment first. */

export interface UploadPlace {
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly digest: string;
}

/** Whether the same upload has not begun again, or been stored, since this time. */
const isSentAt = (begunAt: string) => sql`${uploads.sentAt} = ${begunAt}::timestamptz`;

const isAt = ({ tenantId, deploymentId, digest }: UploadPlace) =>
  and(eq(uploads.tenantId, tenantId), eq(uploads.deploymentId, deploymentId), eq(uploads.digest, digest));

/**
 * Records that an upload is being sent.
 * @param bytes expected size
 * @returns when it began, as PostgreSQL writes it; null: the same upload is being removed, and can be sent again when that has ended
 */
export async function beginUpload(
  transaction: Transaction,
  place: UploadPlace,
  bytes: number,
): Promise<{ readonly stored: boolean; readonly begunAt: string } | null> {
  const [row] = await transaction.run(beginUploadStatement, { ...place, bytes });
  return row ?? null;
}

/**
 * Records that an upload has ended before it was stored, so that it does not count in the quota. Has no effect if the same upload
 * has begun again since.
 */
export async function abandonUpload(
  { drizzle }: Transaction,
  place: UploadPlace,
  begunAt: string,
): Promise<void> {
  await drizzle
    .update(uploads)
    .set({ bytes: 0 })
    .where(and(isAt(place), eq(uploads.stored, false), isSentAt(begunAt)));
}

/** Records that the registry has the upload. @returns false: the record no longer exists */
export async function finishUpload(
  { drizzle }: Transaction,
  place: UploadPlace,
  bytes: number,
): Promise<boolean> {
  const { rowCount } = await drizzle
    .update(uploads)
    .set({ stored: true, bytes, sentAt: sql`now()` })
    .where(and(isAt(place), eq(uploads.removing, false)));
  return rowCount === 1;
}

/**
 * Records that the registry does not have the upload, although it was stored. Has no effect if the same upload has begun again
 * since, because it may have been stored again.
 */
export async function recordMissing(
  { drizzle }: Transaction,
  place: UploadPlace,
  begunAt: string,
): Promise<void> {
  await drizzle
    .update(uploads)
    .set({ stored: false })
    .where(and(isAt(place), isSentAt(begunAt)));
}

/** Whether the registry has the upload, and keeps it. */
export async function isUploadStored({ drizzle }: Reader, place: UploadPlace): Promise<boolean> {
  const [row] = await drizzle
    .select({ digest: uploads.digest })
    .from(uploads)
    .where(and(isAt(place), eq(uploads.stored, true), eq(uploads.removing, false)));
  return row !== undefined;
}

/** The size of all uploads of a tenant in bytes, including those that are being sent or removed. @param except left out */
export async function uploadedBytes(
  { drizzle }: Reader,
  tenantId: string,
  except: UploadPlace | null = null,
): Promise<number> {
  const isOther =
    except === null
      ? undefined
      : sql`NOT (${uploads.deploymentId} = ${except.deploymentId} AND ${uploads.digest} = ${except.digest})`;
  const [row] = await drizzle
    .select({ total: sql<number>`coalesce(sum(${uploads.bytes}), 0)::bigint` })
    .from(uploads)
    .where(and(eq(uploads.tenantId, tenantId), isOther));
  return Number(row?.total ?? 0);
}

/** A revision that was built from an upload. */
export interface BuiltRevision {
  readonly number: number;
  readonly image: string;
  readonly sourceRevisionConfig: SourceRevisionConfig;
}

/**
 * The newest revision that was built from the same upload with the same settings.
 * @param kept number of newest revisions whose images are kept
 */
export async function findBuilt(
  { drizzle }: Reader,
  { tenantId, deploymentId }: Omit<UploadPlace, 'digest'>,
  upload: Upload,
  kept: number,
): Promise<BuiltRevision | null> {
  const newest = sql`(SELECT max(n.number) FROM ${revisions} n WHERE n.deployment_id = ${deploymentId})`;
  const [found] = await drizzle
    .select({
      number: revisions.number,
      image: revisions.resolvedImage,
      sourceRevisionConfig: revisions.sourceRevisionConfig,
    })
    .from(revisions)
    .where(
      and(
        eq(revisions.tenantId, tenantId),
        eq(revisions.deploymentId, deploymentId),
        sql`${revisions.sourceRevisionConfig} -> 'upload' = ${JSON.stringify(upload)}::jsonb`,
        isNotNull(revisions.resolvedImage),
        ne(revisions.status, 'BUILD_FAILED'),
        sql`${revisions.number} > ${newest} - ${kept}::int`,
      ),
    )
    .orderBy(desc(revisions.number))
    .limit(1);
  return found === undefined || found.image === null ? null : { ...found, image: found.image };
}

/**
 * Marks the uploads that no revision needs as being removed.
 * @returns their digests. Platform scope
 */
export async function claimUploads(transaction: Transaction, deploymentId: string): Promise<string[]> {
  const { drizzle } = transaction;
  // Changes of the deployment, which may need an upload, wait. They then see the mark.
  await drizzle
    .select({ id: deployments.id })
    .from(deployments)
    .where(eq(deployments.id, deploymentId))
    .for('no key update');
  const rows = await transaction.run(claimUploadsStatement, { deploymentId });
  return rows.map(({ digest }) => digest);
}

const isRemoving = (deploymentId: string) =>
  and(eq(uploads.deploymentId, deploymentId), eq(uploads.removing, true));

/** Removes the records of uploads that the registry no longer has. Platform scope. */
export async function forgetUploads({ drizzle }: Transaction, deploymentId: string): Promise<void> {
  await drizzle.delete(uploads).where(isRemoving(deploymentId));
}

/**
 * Records that a removal was interrupted. The registry may have removed any of the uploads, so each is stored again when it is
 * sent again. Platform scope.
 */
export async function keepUploads({ drizzle }: Transaction, deploymentId: string): Promise<void> {
  await drizzle.update(uploads).set({ removing: false, stored: false }).where(isRemoving(deploymentId));
}

/** Requests cleanups for a portion of the deployments with uploads that no revision needs. Platform scope. */
export async function enqueueUnusedUploads(transaction: Transaction): Promise<number> {
  return (await transaction.run(enqueueUploadsStatement, {})).length;
}

import { MEBIBYTE } from '../../../domain/uploads/archive-limits.ts';
import { type UploadPlace, uploadedBytes } from '../../store/builds/uploads.ts';
import type { Transaction } from '../../store/core/database.ts';
import { lockQuotas } from '../../store/deployments/quotas.ts';
import type { ApiDeps } from '../core/deps.ts';
import { brokenRules } from '../core/errors.ts';

const shown = (bytes: number) => Math.ceil(bytes / MEBIBYTE);

/**
 * Checks the stored uploads of a tenant against its quota `uploads_mb`. The deployment is locked.
 * @param bytes size of the upload, or the expected size
 * @throws ApiError 400
 */
export async function checkUploadQuota(
  { policy }: Pick<ApiDeps, 'policy'>,
  transaction: Transaction,
  place: UploadPlace,
  bytes: number,
): Promise<void> {
  const quotas = await lockQuotas(transaction, place.tenantId, policy.tenant_quotas);
  const most = quotas?.uploads_mb ?? null;
  if (most === null) return;
  const others = await uploadedBytes(transaction, place.tenantId, place);
  if (others + bytes <= most * MEBIBYTE) return;
  const msg =
    `the tenant would use ${shown(others + bytes)} of ${most} MiB of uploaded folders: ${shown(others)} by other uploads, ` +
    `${shown(bytes)} by this upload. Uploads that no revision needs are removed within two hours`;
  throw brokenRules([{ loc: [], msg, type: 'quota_uploads_mb' }]);
}

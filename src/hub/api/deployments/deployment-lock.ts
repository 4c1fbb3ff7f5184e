import type { Transaction } from '../../store/core/database.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { findDeploymentForUpdate } from '../../store/deployments/deployments.ts';
import { deletionConflict, notFound } from '../core/errors.ts';
import { checkIfMatch } from '../core/etag.ts';

/**
 * Returns the deployment to change, and locks it until the transaction ends.
 * @throws ApiError 404, 409 when the deployment is being deleted, 412
 */
export async function lockForChange(
  transaction: Transaction,
  request: { readonly tenantId: string; readonly deploymentId: string; readonly ifMatch: string | undefined },
): Promise<DeploymentRecord> {
  const record = await findDeploymentForUpdate(transaction, request.tenantId, request.deploymentId);
  if (record === null) throw notFound('deployment');
  if (record.deleteRequestedAt !== null) throw deletionConflict();
  checkIfMatch(request.ifMatch, record.generation);
  return record;
}

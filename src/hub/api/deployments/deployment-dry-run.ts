import type { ManagedDeployment } from '../../../contract/resource/managed-deployment.ts';
import type { Transaction } from '../../store/core/database.ts';
import { SecretBoxError } from '../../store/core/errors.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { findRevision } from '../../store/deployments/revisions.ts';
import { type DueApply, loadWork } from '../../store/listeners/listener-work-rows.ts';
import type { ApiDeps } from '../core/deps.ts';
import { dueResource, itemRendering } from '../listeners/listener-work-item.ts';
import { customResourceOf, type ManifestChange } from './deployment-manifests.ts';
import { readableSecrets } from './deployment-secrets.ts';

/**
 * The effect of a change on the cluster, for a dry run: the work item before the change and after it. Both work items
 * are read in the transaction of the change, which is then rolled back, so they match a real change.
 */

/** The stored desired state of the cluster. The latest revision of a repository may still be unbuilt. */
export async function desiredNow(transaction: Transaction, deploymentId: string): Promise<DueApply> {
  const [due] = await loadWork(transaction, [deploymentId]);
  if (due?.kind !== 'apply')
    throw new Error('failed to preview a change: the deployment has no desired state');
  return due;
}

/** The names of the secrets. Secrets that cannot be decrypted, and that the change replaces, have no names. */
function resourceBefore(deps: ApiDeps, due: DueApply): ManagedDeployment {
  try {
    return dueResource(itemRendering(deps), due).resource;
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error;
    return dueResource(itemRendering(deps), { ...due, secrets: null }).resource;
  }
}

/** The record before and after a change, with the desired state of the cluster. */
export interface Changed {
  readonly before: { readonly record: DeploymentRecord; readonly due: DueApply };
  readonly after: { readonly record: DeploymentRecord; readonly due: DueApply };
}

/** @throws SecretBoxError when the desired state cannot be decrypted */
export async function manifestChangeOf(
  deps: ApiDeps,
  transaction: Transaction,
  { before, after }: Changed,
): Promise<ManifestChange> {
  const both = {
    before: resourceBefore(deps, before.due),
    after: dueResource(itemRendering(deps), after.due).resource,
  };
  // A failed revision does not change. source_config applies to the active revision instead.
  if (after.due.revision?.status !== 'DEPLOY_FAILED') return { ...both, served: both };
  const { tenantId, id, activeRevisionId } = after.record;
  const active =
    activeRevisionId === null ? null : await findRevision(transaction, tenantId, id, activeRevisionId);
  if (active === null) return { ...both, served: null };
  // Secrets that cannot be decrypted have no names.
  const names = (readableSecrets(deps.secretBox, active) ?? []).map(({ name }) => name);
  const served = {
    before: customResourceOf(deps, before.record, active, names),
    after: customResourceOf(deps, after.record, active, names),
  };
  return { ...both, served };
}

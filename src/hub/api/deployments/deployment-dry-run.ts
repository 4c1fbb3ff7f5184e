import type { ManagedDeployment } from '../../../contract/resource/managed-deployment.ts';
import type { Transaction } from '../../store/core/database.ts';
import { SecretBoxError } from '../../store/core/errors.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { findRevision } from '../../store/deployments/revisions.ts';
import { type DueApply, loadWork } from '../../store/listeners/listener-work-rows.ts';
import type { ApiDeps } from '../core/deps.ts';
import { dueResource, itemRendering } from '../listeners/listener-work-item.ts';
import { type Outlook, resourceOf } from './deployment-manifests.ts';
import { readableSecrets } from './deployment-secrets.ts';

/**
 * What a change makes of a deployment in its cluster, for its dry run: what the listener would be handed before it, and what
 * after it. Both are read where the change is made and undone, so that they are what the change itself leads to.
 */

/** What the cluster is to have, as it is stored now: of a repository the latest revision may still have to be built. */
export async function wantedNow(transaction: Transaction, deploymentId: string): Promise<DueApply> {
  const [due] = await loadWork(transaction, [deploymentId]);
  if (due?.kind !== 'apply') throw new Error('failed to tell what a change leads to: nothing is wanted');
  return due;
}

/** Secrets that are lost, and given anew by the change, name nothing. */
function resourceBefore(deps: ApiDeps, due: DueApply): ManagedDeployment {
  try {
    return dueResource(itemRendering(deps), due).resource;
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error;
    return dueResource(itemRendering(deps), { ...due, secrets: null }).resource;
  }
}

/** The record before and after a change, with what the cluster is to have. */
export interface Changed {
  readonly before: { readonly record: DeploymentRecord; readonly due: DueApply };
  readonly after: { readonly record: DeploymentRecord; readonly due: DueApply };
}

/** @throws SecretBoxError when what is to run cannot be told */
export async function outlookOf(
  deps: ApiDeps,
  transaction: Transaction,
  { before, after }: Changed,
): Promise<Outlook> {
  const both = {
    before: resourceBefore(deps, before.due),
    after: dueResource(itemRendering(deps), after.due).resource,
  };
  // A revision that has failed stays as it is: source_config reaches the one that serves instead.
  if (after.due.revision?.status !== 'DEPLOY_FAILED') return { ...both, served: both };
  const { tenantId, id, activeRevisionId } = after.record;
  const active =
    activeRevisionId === null ? null : await findRevision(transaction, tenantId, id, activeRevisionId);
  if (active === null) return { ...both, served: null };
  // As above: those that are lost name nothing.
  const names = (readableSecrets(deps.secretBox, active) ?? []).map(({ name }) => name);
  const served = {
    before: resourceOf(deps, before.record, active, names),
    after: resourceOf(deps, after.record, active, names),
  };
  return { ...both, served };
}

import { REASONS } from '../../../domain/conditions/conditions.ts';
import type { WorkBlocked } from '../../../domain/conditions/explain-facts.ts';
import type { Transaction } from '../../store/core/database.ts';
import { loadWork } from '../../store/listeners/listener-work-rows.ts';
import { readableSecrets } from '../deployments/deployment-secrets.ts';
import { itemRendering, toWorkItem, whyNotRendered } from '../listeners/listener-work-item.ts';

/**
 * Why no work item can be created from the stored state of a deployment, now or after the build of its image; null: it
 * can be created. The result is computed for each request, because the history records the problem once, but not its
 * end.
 */
export async function whyWorkBlocked(
  deps: Parameters<typeof itemRendering>[0],
  transaction: Transaction,
  deploymentId: string,
): Promise<WorkBlocked | null> {
  const [due] = await loadWork(transaction, [deploymentId]);
  if (due === undefined) return null;
  try {
    toWorkItem(itemRendering(deps), due);
  } catch (error) {
    return whyNotRendered(error);
  }
  const build = due.kind === 'apply' ? due.build : null;
  if (build === null || readableSecrets(deps.secretBox, build) !== null) return null;
  return { reason: 'SecretsUnreadable', message: REASONS.SecretsUnreadable };
}

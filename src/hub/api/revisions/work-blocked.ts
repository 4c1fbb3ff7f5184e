import { REASONS } from '../../../domain/conditions/conditions.ts';
import type { WorkBlocked } from '../../../domain/conditions/explain-facts.ts';
import type { Transaction } from '../../store/core/database.ts';
import { loadWork } from '../../store/listeners/listener-work-rows.ts';
import { readableSecrets } from '../deployments/deployment-secrets.ts';
import { itemRendering, toWorkItem, whyNone } from '../listeners/listener-work-item.ts';

/**
 * Why what is stored of a deployment makes no work item now, or will make none once its image is built; null: it does. Looked
 * at anew: the history tells of it once, and does not tell that it is over.
 */
export async function whyPutOff(
  deps: Parameters<typeof itemRendering>[0],
  transaction: Transaction,
  deploymentId: string,
): Promise<WorkBlocked | null> {
  const [due] = await loadWork(transaction, [deploymentId]);
  if (due === undefined) return null;
  try {
    toWorkItem(itemRendering(deps), due);
  } catch (error) {
    return whyNone(error);
  }
  const build = due.kind === 'apply' ? due.build : null;
  if (build === null || readableSecrets(deps.secretBox, build) !== null) return null;
  return { reason: 'SecretsUnreadable', message: REASONS.SecretsUnreadable };
}

import { isOnHost } from '../../../domain/builds/git-host.ts';
import type { SourceConfig } from '../../../domain/deployment/deployment.ts';
import { lockIntegration } from '../../store/builds/integrations.ts';
import type { Transaction } from '../../store/core/database.ts';
import { brokenRules } from '../core/errors.ts';

/**
 * Looks up the integration that a new deployment names and locks it against deletion until the transaction ends.
 * @throws ApiError 400 that names the field
 */
export async function checkIntegration(
  transaction: Transaction,
  tenantId: string,
  { integration_id: id, repo_url: repository }: SourceConfig,
): Promise<void> {
  if (id === null) return;
  const integration = await lockIntegration(transaction, tenantId, id);
  if (integration === null) {
    const loc = ['source_config', 'integration_id'];
    throw brokenRules([
      { loc, msg: 'must be the id of an existing integration', type: 'integration_unknown' },
    ]);
  }
  if (repository === null || isOnHost(repository, integration.hostUrl)) return;
  const msg = `must be below ${integration.hostUrl}, because the token of the integration is only for this host`;
  throw brokenRules([{ loc: ['source_config', 'repo_url'], msg, type: 'integration_other_host' }]);
}

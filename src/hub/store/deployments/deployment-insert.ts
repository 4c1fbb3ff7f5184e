import { uuidv7 } from '../../../domain/core/id.ts';
import type { Transaction } from '../core/database.ts';
import { StoreError } from '../core/errors.ts';
import type { DeploymentRecord, NewDeployment } from '../core/records.ts';
import { type SecretBox, sealSecrets } from '../secrets/secret-box.ts';
import { insertDeploymentStatement } from '../sql/deployments/insert-deployment.ts';
import { rejectOtherSpellings } from './deployment-name.ts';
import { toDeploymentRecord } from './deployment-row.ts';
import { hostsOf, tailValues, writtenValues } from './deployment-write.ts';
import { claimHosts } from './host-reservations.ts';
import { takingHosts } from './taken-host.ts';

/**
 * Creates a deployment with its tracing project, secrets and first revision.
 * @throws UniqueViolation `deployments_name` (a deployment that is not being deleted has the name, in any spelling),
 *   HostTaken; ReferenceViolation when tenant or listener do not exist
 */
export async function insertDeployment(
  transaction: Transaction,
  box: SecretBox,
  tenantId: string,
  added: NewDeployment,
): Promise<DeploymentRecord> {
  const { revision, sourceConfig } = added;
  await rejectOtherSpellings(transaction, tenantId, added.name);
  const secrets = sealSecrets(box, tenantId, added.id, added.secrets);
  const event = {
    actor: added.actor,
    reason: 'Created',
    message: `Deployment ${added.name} was created.`,
  } as const;
  const hosts = hostsOf(sourceConfig);
  const claim = { tenantId, deploymentId: added.id, sourceConfig, hosts };
  return takingHosts(transaction, claim, async () => {
    const [row] = await transaction.run(insertDeploymentStatement, {
      ...tailValues(secrets, revision, event),
      ...writtenValues(added),
      tenantId,
      deploymentId: added.id,
      projectId: uuidv7(),
      name: added.name,
      source: added.source,
      appName: added.appName,
      namespace: added.namespace,
      listenerId: added.listenerId,
    });
    if (row === undefined)
      throw new StoreError('failed to insert a deployment: the statement returned no row', {
        retryable: false,
      });
    await claimHosts(transaction, tenantId, added.id, hosts);
    return toDeploymentRecord(row);
  });
}

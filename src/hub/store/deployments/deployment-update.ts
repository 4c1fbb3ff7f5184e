import type { Transaction } from '../core/database.ts';
import { and, eq } from '../core/drizzle.ts';
import { StaleWrite } from '../core/errors.ts';
import type { DeploymentRecord, DesiredChange } from '../core/records.ts';
import { deployments } from '../core/schema.ts';
import { type SecretBox, sealSecrets } from '../secrets/secret-box.ts';
import { updateDeploymentStatement } from '../sql/deployments/update-deployment.ts';
import { toDeploymentRecord } from './deployment-row.ts';
import { hostsOf, tailValues, writtenValues } from './deployment-write.ts';
import { claimHosts, reserveHosts } from './host-reservations.ts';
import { takingHosts } from './taken-host.ts';

/**
 * Writes the new desired state. Increments the generation and creates the revision, if any.
 * @throws StaleWrite when the generation is no longer the expected generation or the deployment is being deleted;
 *   HostTaken
 */
export async function updateDesiredState(
  transaction: Transaction,
  box: SecretBox,
  tenantId: string,
  deploymentId: string,
  change: DesiredChange,
): Promise<DeploymentRecord> {
  const { revision, secrets, sourceConfig } = change;
  const sealed = secrets.kind === 'values' ? sealSecrets(box, tenantId, deploymentId, secrets.secrets) : null;
  const hosts = hostsOf(sourceConfig);
  const former = await formerHosts(transaction, tenantId, deploymentId);
  const without = (all: readonly string[], others: readonly string[]) =>
    all.filter((host) => !others.includes(host));
  const claim = { tenantId, deploymentId, sourceConfig, hosts: without(hosts, former) };
  return takingHosts(transaction, claim, async () => {
    const [row] = await transaction.run(updateDeploymentStatement, {
      ...tailValues(sealed, revision, { ...change, reason: change.reason ?? 'Patched' }),
      ...writtenValues(change),
      tenantId,
      deploymentId,
      expectedGeneration: change.expectedGeneration,
      secretsId: secrets.kind === 'set' ? secrets.id : (sealed?.id ?? null),
      formerSizes: change.formerSizes === undefined ? null : JSON.stringify(change.formerSizes),
    });
    if (row === undefined) throw new StaleWrite(`deployment ${deploymentId}`);
    await reserveHosts(transaction, tenantId, [deploymentId], without(former, hosts));
    await claimHosts(transaction, tenantId, deploymentId, claim.hosts);
    return toDeploymentRecord(row);
  });
}

/** The caller has locked the row. If the caller has not locked the row, the write detects a changed generation. */
async function formerHosts(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
): Promise<string[]> {
  const [row] = await transaction.drizzle
    .select({ sourceConfig: deployments.sourceConfig })
    .from(deployments)
    .where(and(eq(deployments.tenantId, tenantId), eq(deployments.id, deploymentId)));
  return row === undefined ? [] : hostsOf(row.sourceConfig);
}

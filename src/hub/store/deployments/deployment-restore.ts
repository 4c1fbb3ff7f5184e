import { mergeDomains } from '../../../domain/app-hosts/domains.ts';
import type { SourceConfig } from '../../../domain/deployment/deployment.ts';
import type { Transaction } from '../core/database.ts';
import { and, eq, gt, type SQL, sql } from '../core/drizzle.ts';
import { UniqueViolation } from '../core/errors.ts';
import { type Actor, actorColumns, appendEvents } from '../core/events.ts';
import type { DeploymentRecord } from '../core/records.ts';
import { inSavepoint } from '../core/savepoint.ts';
import { deployments } from '../core/schema.ts';
import { restoreDeploymentStatement } from '../sql/deployments/restore-deployment.ts';
import { WITHIN_GRACE } from '../sql/fragments/grace-period.ts';
import { findDeployment } from './deployment-find.ts';
import { rejectOtherSpellings } from './deployment-name.ts';
import { hostsOf, routeHost } from './deployment-write.ts';
import { claimHosts } from './host-reservations.ts';

const own = (tenantId: string, deploymentId: string) =>
  and(eq(deployments.id, deploymentId), eq(deployments.tenantId, tenantId));

const exists = async (transaction: Transaction, condition: SQL | undefined): Promise<boolean> =>
  (await transaction.drizzle.select({ id: deployments.id }).from(deployments).where(condition)).length > 0;

/**
 * Whether a restore may wait for the host. A deployment that releases the host is usually finished within a moment, so
 * a restore usually waits for that deployment. Near the end of the grace period, a disconnected listener, perhaps of
 * another tenant, must not cause a loss of data.
 */
const mayWait = (transaction: Transaction, tenantId: string, deploymentId: string) =>
  exists(
    transaction,
    and(
      own(tenantId, deploymentId),
      gt(deployments.purgeAfter, sql`clock_timestamp() + interval '10 minutes'`),
    ),
  );

/** Constraints whose violation shows that another deployment has the host. */
const HAS_HOST: ReadonlySet<string> = new Set([
  'deployments_route_host',
  'deployment_hosts_pkey',
  'kept_hosts_pkey',
]);

/** The hosts that a restored deployment has lost to other deployments. */
interface LostHosts {
  readonly url: string | null;
  readonly domains: readonly string[];
}

const NOTHING_LOST: LostHosts = { url: null, domains: [] };

function withoutHosts(config: SourceConfig, { url, domains }: LostHosts): SourceConfig {
  const { domains: stored = [], ...others } = config;
  return {
    ...others,
    ...mergeDomains({}, { domains: stored.filter((host) => !domains.includes(host)) }),
    custom_url: url === null ? config.custom_url : null,
  };
}

/** Whether the deletion of a deployment can still be cancelled. The caller has locked the row of the deployment. */
export const isRestorable = (
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
): Promise<boolean> => exists(transaction, and(own(tenantId, deploymentId), sql.raw(WITHIN_GRACE)));

/** Writes source_config and its host. A trigger takes the hosts, unless the deployment is being deleted. */
const writeConfig = (
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  sourceConfig: SourceConfig,
) =>
  transaction.drizzle
    .update(deployments)
    .set({ sourceConfig, routeHost: routeHost(sourceConfig) })
    .where(own(tenantId, deploymentId));

/**
 * Restores a deployment without the hosts that other deployments have now. Rows of other tenants are not visible, so each host
 * is tried on its own.
 * @returns the lost hosts
 */
async function takeFreeHosts(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  config: SourceConfig,
): Promise<LostHosts> {
  const all = hostsOf(config);
  const host = routeHost(config);
  const lost = new Set(all);
  const lostHosts = (): LostHosts => ({
    url: host !== null && lost.has(host) ? config.custom_url : null,
    domains: (config.domains ?? []).filter((each) => lost.has(each)),
  });
  for (const each of all) {
    lost.delete(each);
    try {
      await inSavepoint(transaction, async () => {
        await writeConfig(transaction, tenantId, deploymentId, withoutHosts(config, lostHosts()));
        await claimHosts(transaction, tenantId, deploymentId, [each]);
      });
    } catch (error) {
      const isTaken =
        error instanceof UniqueViolation && (HAS_HOST.has(error.constraint) || isLeaving(error));
      if (!isTaken) throw error;
      lost.add(each);
    }
  }
  return lostHosts();
}

const isLeaving = ({ constraint }: UniqueViolation) => constraint === 'leaving_hosts_pkey';

/**
 * Restores a deployment within the grace period, with its previous desired state. The caller has locked the row of the deployment. If
 * another deployment, perhaps of another tenant, now has one of its hosts, the deployment is restored without this host.
 * @throws UniqueViolation `leaving_hosts_pkey`: another deployment is giving up a host, and there is time to wait
 * @returns null when the grace period has ended or the deployment is not being deleted
 * @throws UniqueViolation `deployments_name`: another deployment of the tenant has the name now
 */
export async function restoreDeployment(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  actor: Actor,
): Promise<DeploymentRecord | null> {
  const restore = async () => {
    const [row] = await transaction.run(restoreDeploymentStatement, {
      tenantId,
      deploymentId,
      ...actorColumns(actor),
    });
    if (row !== undefined) await rejectOtherSpellings(transaction, tenantId, row.name);
    return row ?? null;
  };
  let restored: Awaited<ReturnType<typeof restore>>;
  let lost = NOTHING_LOST;
  try {
    restored = await inSavepoint(transaction, async () => {
      const row = await restore();
      if (row !== null) await claimHosts(transaction, tenantId, deploymentId, hostsOf(row.sourceConfig));
      return row;
    });
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    if (!isLeaving(error) && !HAS_HOST.has(error.constraint)) throw error;
    if (isLeaving(error) && (await mayWait(transaction, tenantId, deploymentId))) throw error;
    const record = await findDeployment(transaction, tenantId, deploymentId);
    if (record === null) return null;
    const { sourceConfig: config } = record;
    const none = { url: config.custom_url, domains: config.domains ?? [] };
    await writeConfig(transaction, tenantId, deploymentId, withoutHosts(config, none));
    restored = await restore();
    if (restored !== null) lost = await takeFreeHosts(transaction, tenantId, deploymentId, config);
  }
  if (restored === null) return null;
  const message = `The deletion of ${restored.name} was cancelled${lossOf(lost)}.`;
  const details = {
    from: 'AWAITING_DELETE',
    to: restored.historyStatus,
    ...(lost.url === null ? {} : { lost_custom_url: lost.url }),
    ...(lost.domains.length === 0 ? {} : { lost_domains: lost.domains }),
  };
  await appendEvents(transaction, [{ tenantId, deploymentId, actor, reason: 'Restored', message, details }]);
  return findDeployment(transaction, tenantId, deploymentId);
}

function lossOf({ url, domains }: LostHosts): string {
  if (domains.length === 0) {
    return url === null ? '' : `, without its custom_url ${url}, because another deployment now has the host`;
  }
  const parts = [...(url === null ? [] : [`its custom_url ${url}`]), `its domains ${domains.join(', ')}`];
  return `, without ${parts.join(' and ')}, because other deployments now have these hosts`;
}

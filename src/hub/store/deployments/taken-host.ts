import { NIL_UUID } from '../../../domain/core/id.ts';
import type { SourceConfig } from '../../../domain/deployment/deployment.ts';
import type { Transaction } from '../core/database.ts';
import { ReferenceViolation, translateError, UniqueViolation } from '../core/errors.ts';
import { inSavepoint } from '../core/savepoint.ts';
import { tryHostInUseStatement, tryLeavingHostStatement } from '../sql/hosts/try-hosts.ts';
import { tryKeptHostsStatement } from '../sql/hosts/try-kept-hosts.ts';
import { routeHost } from './deployment-write.ts';

/**
 * Names the host that another deployment has. PostgreSQL does not name it, because the rows of other tenants are not visible.
 */

/** The field of source_config that has a host. */
export type HostField = 'custom_url' | 'domains';

/** Another deployment has, or is still routed under, a host of the request. */
export class HostTaken extends UniqueViolation {
  readonly host: string;
  readonly field: HostField;
  constructor(constraint: string, host: string, field: HostField) {
    super(constraint);
    this.host = host;
    this.field = field;
  }
}

interface Claim {
  readonly tenantId: string;
  readonly deploymentId: string;
  /** The source_config that is written. */
  readonly sourceConfig: SourceConfig;
  /** The hosts that the deployment does not have yet. */
  readonly hosts: readonly string[];
}

/** Tries one host, by the constraint that the write of all hosts has violated. */
const TRIES: Readonly<
  Record<string, (transaction: Transaction, claim: Claim, host: string) => Promise<unknown>>
> = {
  deployment_hosts_pkey: (transaction, { tenantId, deploymentId }, host) =>
    transaction.run(tryHostInUseStatement, { tenantId, deploymentId, host, unusedId: NIL_UUID }),
  leaving_hosts_pkey: (transaction, { tenantId, deploymentId }, host) =>
    transaction.run(tryLeavingHostStatement, { tenantId, deploymentId, host, unusedId: NIL_UUID }),
  kept_hosts_pkey: (transaction, { tenantId, deploymentId }, host) =>
    transaction.run(tryKeptHostsStatement, { tenantId, deploymentId, hosts: [host] }),
};

/** The first host, in the order of the writes, that another deployment has. undefined: it was just released. */
async function firstTaken(
  transaction: Transaction,
  claim: Claim,
  constraint: string,
): Promise<string | undefined> {
  const attempt = TRIES[constraint];
  if (attempt === undefined) return undefined;
  for (const host of claim.hosts.toSorted()) {
    try {
      await inSavepoint(transaction, () => attempt(transaction, claim, host));
    } catch (error) {
      if (error instanceof UniqueViolation) return host;
      if (!(error instanceof ReferenceViolation)) throw error;
    }
  }
  return undefined;
}

async function takenHost(
  transaction: Transaction,
  claim: Claim,
  constraint: string,
): Promise<string | null | undefined> {
  if (constraint === 'deployments_route_host') return routeHost(claim.sourceConfig);
  if (TRIES[constraint] === undefined) return null;
  return claim.hosts.length === 1 ? claim.hosts[0] : firstTaken(transaction, claim, constraint);
}

/**
 * Runs a write that takes the hosts. With several hosts, it runs in a savepoint, so that each can be tried after a conflict.
 * @throws HostTaken another deployment has one of the hosts
 */
export async function takingHosts<T>(
  transaction: Transaction,
  claim: Claim,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return claim.hosts.length > 1 ? await inSavepoint(transaction, write) : await write();
  } catch (thrown) {
    const error = translateError(thrown);
    if (!(error instanceof UniqueViolation)) throw error;
    const { constraint } = error;
    const host = await takenHost(transaction, claim, constraint);
    if (host == null) throw error;
    throw new HostTaken(constraint, host, host === routeHost(claim.sourceConfig) ? 'custom_url' : 'domains');
  }
}

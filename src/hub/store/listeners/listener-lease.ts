import { isAnotherCluster, keptClusterId } from '../../../domain/deployment/cluster-id.ts';
import { FALLBACK_NAMESPACE } from '../../../domain/deployment/deployment.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, eq, sql } from '../core/drizzle.ts';
import { StoreError } from '../core/errors.ts';
import { deployments, listeners, tombstones } from '../core/schema.ts';
import { endEpochStatement } from '../sql/listeners/end-epoch.ts';
import { holdLeaseStatement } from '../sql/listeners/hold-lease.ts';
import { keepEpochStatement } from '../sql/listeners/keep-epoch.ts';
import { listenerOwnerStatement } from '../sql/listeners/listener-owner.ts';
import { lockEpochStatement } from '../sql/listeners/lock-epoch.ts';
import { lockLeaseStatement } from '../sql/listeners/lock-lease.ts';
import { recordReachability } from './listener-loss.ts';

const NOW = sql`now()`;

/** A call has an outdated epoch, because another process holds or held the lease. */
export class StaleEpoch extends StoreError {
  constructor(epoch: number, current: number) {
    super(`failed to act as listener: epoch ${epoch} is not the current epoch ${current}`, {
      retryable: false,
    });
  }
}

/** Another process holds the lease. `retryable`: the lease may end. */
export class LeaseHeld extends StoreError {
  constructor(holder: string) {
    super(`failed to take the lease: ${holder} holds it`, { retryable: true });
  }
}

/** The caller runs in another cluster than the listener, because two clusters use the same listener id. */
export class AnotherCluster extends StoreError {
  constructor() {
    super('failed to take the lease: the listener belongs to another cluster', { retryable: false });
  }
}

/** The data that a listener sends when it takes or renews its lease. */
export interface LeaseClaim {
  holder: string;
  /** The epoch to renew; null: begin a new epoch. */
  epoch: number | null;
  /**
   * Whether to release the lease, so that a successor need not wait. Observations count until the lease would have
   * expired.
   */
  release: boolean;
  clusterReachable: boolean;
  version: string;
  clusterVersion: string;
  /** Optional features of the listener. Empty: its version does not report them. */
  abilities: readonly string[];
  /** null: the cluster id could not be read. */
  clusterId: string | null;
  rendering: unknown;
  /** Namespaces that cannot be read, with reasons. */
  unreadable: Readonly<Record<string, string>>;
  /** null: the registered namespaces. */
  namespaces: readonly string[] | null;
}

/**
 * Hands out items in progress again, for a new holder, and for a holder that missed a response. Items are due again that
 * were handed out and not reported. Rejected items keep their backoff. Suspended deployments wait for the end of their
 * grace period.
 */
export async function handOutAgain({ drizzle }: Transaction, listenerId: string): Promise<void> {
  await drizzle
    .update(deployments)
    .set({ nextAttemptAt: NOW })
    .where(
      and(
        eq(deployments.listenerId, listenerId),
        sql`${deployments.generation} > ${deployments.acknowledgedGeneration}`,
        sql`${deployments.nextAttemptAt} > now()`,
        deployments.handedOut,
      ),
    );
  await drizzle
    .update(tombstones)
    .set({ nextAttemptAt: NOW })
    .where(
      and(
        eq(tombstones.listenerId, listenerId),
        tombstones.due,
        sql`${tombstones.attempts} > 0`,
        sql`${tombstones.nextAttemptAt} > now()`,
      ),
    );
}

/**
 * Moves deployments without a requested namespace to the listener's default namespace, if they were created before the
 * listener first reported its namespaces. Such deployments are not in the cluster, because without a lease, no work was
 * handed out.
 */
async function placeWaiting({ drizzle }: Transaction, listenerId: string, namespace: string): Promise<void> {
  await drizzle
    .update(deployments)
    .set({ namespace })
    .where(
      and(
        eq(deployments.listenerId, listenerId),
        eq(deployments.namespace, FALLBACK_NAMESPACE),
        sql`${deployments.sourceConfig} #>> '{listener_config,cluster_namespace}' IS NULL`,
      ),
    );
}

type StoredListener = NonNullable<(typeof lockLeaseStatement)['row']>;

/** @throws AnotherCluster, LeaseHeld, StaleEpoch */
function nextEpoch(row: StoredListener, claim: LeaseClaim): number {
  const [kept, claimed] = [row.clusterId, claim.clusterId];
  if (kept !== null && claimed !== null && isAnotherCluster(kept, claimed)) throw new AnotherCluster();
  const own = row.leaseHolder === claim.holder;
  if (claim.epoch !== null) {
    // guard: epoch-of-renewals
    if (claim.epoch !== row.leaseEpoch || !own) throw new StaleEpoch(claim.epoch, row.leaseEpoch);
    return row.leaseEpoch;
  }
  if (row.leaseHolder !== null && !own && row.held) throw new LeaseHeld(row.leaseHolder);
  return row.leaseEpoch + 1;
}

/** Durations of one renewal. */
export interface LeaseTimes {
  /** Time for which the cluster counts as observed. After this time, its deployments become UNKNOWN. */
  readonly observedSeconds: number;
  /**
   * Time for which only the holder can use the lease. This time is shorter than the lease, so that a killed holder is
   * replaced before deployments become UNKNOWN.
   */
  readonly heldSeconds: number;
}

/**
 * Takes, renews or releases the lease of a listener.
 * @returns the epoch of the holder; null when the scope may not run a listener with this id
 * @throws AnotherCluster, LeaseHeld, StaleEpoch
 */
export async function takeLease(
  transaction: Transaction,
  listenerId: string,
  claim: LeaseClaim,
  { observedSeconds, heldSeconds }: LeaseTimes,
): Promise<{ epoch: number } | null> {
  const [row] = await transaction.run(lockLeaseStatement, { listenerId, heldSeconds });
  if (row === undefined) return null;
  const epoch = nextEpoch(row, claim);
  if (claim.release) {
    await transaction.drizzle
      .update(listeners)
      .set({ leaseHolder: null, lastSeenAt: NOW })
      .where(eq(listeners.id, listenerId));
    return { epoch };
  }
  if (epoch !== row.leaseEpoch) await transaction.run(endEpochStatement, { listenerId });
  const [held] = await transaction.run(holdLeaseStatement, {
    listenerId,
    holder: claim.holder,
    epoch,
    observedSeconds,
    version: claim.version,
    clusterVersion: claim.clusterVersion,
    abilities: claim.abilities,
    rendering: claim.rendering === null ? null : JSON.stringify(claim.rendering),
    clusterReachable: claim.clusterReachable,
    namespaces: claim.namespaces === null ? null : JSON.stringify(claim.namespaces),
    clusterId: keptClusterId(row.clusterId, claim.clusterId),
    unreadable: JSON.stringify(claim.unreadable),
  });
  // guard: work-of-former-holder
  if (epoch !== row.leaseEpoch) await handOutAgain(transaction, listenerId);
  const [first] = claim.namespaces ?? [];
  if (!row.everSeen && first !== undefined && !claim.namespaces?.includes(FALLBACK_NAMESPACE)) {
    await placeWaiting(transaction, listenerId, first);
  }
  if (!claim.clusterReachable || held?.awaitsInventory === false)
    await recordReachability(transaction, listenerId, row, claim.clusterReachable);
  return { epoch };
}

/**
 * Fails unless `epoch` is the current epoch of the listener. No new epoch can begin, and the lease cannot be renewed,
 * until the transaction ends.
 * @throws StaleEpoch
 */
export async function checkEpoch(reader: Reader, listenerId: string, epoch: number): Promise<void> {
  const [row] = await reader.run(lockEpochStatement, { listenerId });
  if (row?.leaseEpoch !== epoch) throw new StaleEpoch(epoch, row?.leaseEpoch ?? 0);
}

/**
 * Like `checkEpoch`, but the lease can be renewed before the transaction ends. For transactions that depend on no other
 * column of the listener, and that may overlap without a gap, such as those of logs.
 * @throws StaleEpoch
 */
export async function checkEpochOnly(reader: Reader, listenerId: string, epoch: number): Promise<void> {
  const [row] = await reader.run(keepEpochStatement, { listenerId });
  if (row?.leaseEpoch !== epoch) throw new StaleEpoch(epoch, row?.leaseEpoch ?? 0);
}

/**
 * The owner of a listener: a tenant's id, or null for the platform. undefined: the scope contains no listener with this
 * id.
 */
export async function listenerOwner(reader: Reader, listenerId: string): Promise<string | null | undefined> {
  const [row] = await reader.run(listenerOwnerStatement, { listenerId });
  return row?.tenantId;
}

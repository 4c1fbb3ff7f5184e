import { isAnotherCluster, keptClusterId } from '../../../domain/deployment/cluster-id.ts';
import { FALLBACK_NAMESPACE } from '../../../domain/deployment/deployment.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { StoreError } from '../core/errors.ts';
import { recordReachability } from './listener-loss.ts';

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
  /** null: the cluster id could not be read. */
  clusterId: string | null;
  rendering: unknown;
  /** Namespaces that cannot be read, with reasons. */
  unreadable: Readonly<Record<string, string>>;
  /** null: the registered namespaces. */
  namespaces: readonly string[] | null;
}

interface LeaseRow {
  tenant_id: string | null;
  compute_id: string;
  lease_holder: string | null;
  lease_epoch: number;
  /** Whether the holder has renewed the lease in time. */
  held: boolean;
  loss_recorded: boolean;
  ever_seen: boolean;
  cluster_id: string | null;
}

const LOCK = `
SELECT tenant_id, compute_id, lease_holder, lease_epoch, coalesce(last_seen_at > now() - make_interval(secs => $2::float8), false) AS held, loss_recorded, ever_seen, cluster_id
FROM listeners WHERE id = $1 FOR NO KEY UPDATE`;

const RELEASE = 'UPDATE listeners SET lease_holder = NULL, last_seen_at = now() WHERE id = $1';

/**
 * Whether deployments remain UNKNOWN until the first complete inventory (listener-inventory.ts), which follows the
 * reports. After a gap in observation, deployments remain UNKNOWN for a new holder.
 */
const AWAITS = `(l.awaits_inventory OR l.lease_epoch <> $3 AND l.ever_seen
  AND NOT ($8 AND l.cluster_reachable AND coalesce(l.lease_expires_at > now(), false)))`;

/**
 * A new process does not know yet which namespaces it cannot read. The namespaces that the previous process could not
 * read are kept until the next renewal.
 */
const HOLD = `
UPDATE listeners l SET lease_holder = $2, lease_epoch = $3, lease_expires_at = now() + make_interval(secs => $4::float8),
  report_seq = CASE WHEN lease_epoch = $3 THEN report_seq ELSE 0 END,
  version = $5, cluster_version = $6, rendering = coalesce($7::jsonb, rendering), cluster_reachable = $8,
  compute_config = CASE WHEN $9::jsonb IS NULL THEN compute_config
    ELSE compute_config || jsonb_build_object('k8s_namespaces', $9::jsonb) END,
  awaits_inventory = ${AWAITS}, loss_recorded = NOT $8 OR loss_recorded AND ${AWAITS}, ever_seen = true,
  lost_at = CASE WHEN NOT $8 OR ${AWAITS} THEN coalesce(lost_at, least(lease_expires_at, now())) END, last_seen_at = now(),
  cluster_id = $10, unreadable = CASE WHEN l.lease_epoch <> $3 THEN l.unreadable || $11::jsonb ELSE $11::jsonb END
WHERE id = $1 RETURNING awaits_inventory AS awaits`;

/**
 * Makes items due again that were handed out and not reported. Rejected items keep their backoff. Suspended deployments
 * wait for the end of their grace period.
 */
const HAND_OUT_AGAIN = `
UPDATE deployments SET next_attempt_at = now()
WHERE listener_id = $1 AND generation > acknowledged_generation AND next_attempt_at > now() AND handed_out`;
const LEFTOVERS_AGAIN =
  'UPDATE tombstones SET next_attempt_at = now() WHERE listener_id = $1 AND due AND attempts > 0 AND next_attempt_at > now()';

/** Hands out items in progress again, for a new holder, and for a holder that missed a response. */
export async function handOutAgain(transaction: Transaction, listenerId: string): Promise<void> {
  await transaction.query(HAND_OUT_AGAIN, [listenerId]);
  await transaction.query(LEFTOVERS_AGAIN, [listenerId]);
}

/**
 * Moves deployments without a requested namespace to the listener's default namespace, if they were created before the
 * listener first reported its namespaces. Such deployments are not in the cluster, because without a lease, no work was
 * handed out.
 */
const PLACE_WAITING = `
UPDATE deployments SET namespace = $2
WHERE listener_id = $1 AND namespace = $3 AND source_config #>> '{listener_config,cluster_namespace}' IS NULL`;

/** @throws AnotherCluster, LeaseHeld, StaleEpoch */
function nextEpoch(row: LeaseRow, claim: LeaseClaim): number {
  const [kept, claimed] = [row.cluster_id, claim.clusterId];
  if (kept !== null && claimed !== null && isAnotherCluster(kept, claimed)) throw new AnotherCluster();
  const own = row.lease_holder === claim.holder;
  if (claim.epoch !== null) {
    // guard: epoch-of-renewals
    if (claim.epoch !== row.lease_epoch || !own) throw new StaleEpoch(claim.epoch, row.lease_epoch);
    return row.lease_epoch;
  }
  if (row.lease_holder !== null && !own && row.held) throw new LeaseHeld(row.lease_holder);
  return row.lease_epoch + 1;
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
  const [row] = await transaction.query<LeaseRow>(LOCK, [listenerId, heldSeconds]);
  if (row === undefined) return null;
  const epoch = nextEpoch(row, claim);
  if (claim.release) {
    await transaction.query(RELEASE, [listenerId]);
    return { epoch };
  }
  const [held] = await transaction.query<{ awaits: boolean }>(HOLD, [
    listenerId,
    claim.holder,
    epoch,
    observedSeconds,
    claim.version,
    claim.clusterVersion,
    claim.rendering === null ? null : JSON.stringify(claim.rendering),
    claim.clusterReachable,
    claim.namespaces === null ? null : JSON.stringify(claim.namespaces),
    keptClusterId(row.cluster_id, claim.clusterId),
    JSON.stringify(claim.unreadable),
  ]);
  // guard: work-of-former-holder
  if (epoch !== row.lease_epoch) await handOutAgain(transaction, listenerId);
  const [first] = claim.namespaces ?? [];
  if (!row.ever_seen && first !== undefined && !claim.namespaces?.includes(FALLBACK_NAMESPACE)) {
    await transaction.query(PLACE_WAITING, [listenerId, first, FALLBACK_NAMESPACE]);
  }
  if (!claim.clusterReachable || held?.awaits === false)
    await recordReachability(transaction, listenerId, row, claim.clusterReachable);
  return { epoch };
}

/**
 * Fails unless `epoch` is the current epoch of the listener. No new epoch can begin until the transaction ends.
 * @throws StaleEpoch
 */
export async function checkEpoch(reader: Reader, listenerId: string, epoch: number): Promise<void> {
  const [row] = await reader.query<{ lease_epoch: number }>(
    'SELECT lease_epoch FROM listeners WHERE id = $1 FOR SHARE',
    [listenerId],
  );
  if (row?.lease_epoch !== epoch) throw new StaleEpoch(epoch, row?.lease_epoch ?? 0);
}

/**
 * The owner of a listener: a tenant's id, or null for the platform. undefined: the scope contains no listener with this
 * id.
 */
export async function listenerOwner(reader: Reader, listenerId: string): Promise<string | null | undefined> {
  const [row] = await reader.query<{ tenant_id: string | null }>(
    'SELECT tenant_id FROM listeners WHERE id = $1',
    [listenerId],
  );
  return row?.tenant_id;
}

import type { Registry } from 'prom-client';
import {
  type Fleet,
  LISTENER_OWNERS,
  type ListenerPulse,
  type Rolled,
  type RolledCount,
  type Waiting,
} from '../hub/store/deployments/fleet.ts';
import { gaugeOf, type Sample } from './collect-on-scrape.ts';

/**
 * Defines the metrics of all deployments and listeners, which are read from the database. Every replica of the hub
 * exports the same values.
 */

/** Minimum time between reads of the database, independent of the number and rate of scrapes. */
const FRESH_MS = 15_000;

/** One read of the database serves all metrics of a scrape, and the scrapes of the next seconds. */
function cached(read: () => Promise<Fleet>): () => Promise<Fleet> {
  let asked: { readonly at: number; readonly fleet: Promise<Fleet> } | undefined;
  return () => {
    const now = performance.now();
    if (asked === undefined || now - asked.at >= FRESH_MS) {
      const fleet = read();
      asked = { at: now, fleet };
      // A failure is not cached, so the next scrape reads again.
      fleet.catch(() => {
        asked = undefined;
      });
    }
    return asked.fleet;
  };
}

interface FleetMetric<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly Label[];
  readonly samples: (fleet: Fleet) => readonly Sample<Label>[];
}

/** A value of null is not exported. */
const single = (
  name: string,
  help: string,
  measure: (fleet: Fleet) => number | null,
): FleetMetric<never> => ({
  name,
  help,
  labels: [],
  samples: (fleet) => {
    const value = measure(fleet);
    return value === null ? [] : [{ labels: {} as Record<never, string>, value }];
  },
});

const BY_STATUS: FleetMetric<'status'> = {
  name: 'berth_deployments',
  help: 'Deployments of all tenants by status.',
  labels: ['status'],
  samples: ({ deployments }) =>
    Object.entries(deployments).map(([status, value]) => ({ labels: { status }, value })),
};

const LISTENERS: FleetMetric<'owner' | 'status'> = {
  name: 'berth_listeners',
  help: 'Listeners by owner (platform, tenant) and status.',
  labels: ['owner', 'status'],
  samples: ({ listeners }) =>
    listeners.map(({ owner, status, count }) => ({ labels: { owner, status }, value: count })),
};

const ofPulses = (
  name: string,
  help: string,
  measure: (pulse: ListenerPulse) => number | null,
): FleetMetric<'listener'> => ({
  name,
  help,
  labels: ['listener'],
  samples: ({ pulses }) =>
    pulses.flatMap((pulse) => {
      const value = measure(pulse);
      return value === null ? [] : [{ labels: { listener: pulse.id }, value }];
    }),
});

const PULSES = [
  ofPulses(
    'berth_listener_last_seen_timestamp_seconds',
    'Time of the last call of a platform listener, by id. At most the fifty listeners whose leases expire first are ' +
      'exported.',
    ({ lastSeenAt }) => lastSeenAt,
  ),
  ofPulses(
    'berth_listener_lease_expiry_timestamp_seconds',
    'Time when the lease of a platform listener expires, by id. In the past: the lease has expired, so the ' +
      'deployments of the listener are UNKNOWN.',
    ({ leaseExpiresAt }) => leaseExpiresAt,
  ),
];

const ofOwners = (
  name: string,
  help: string,
  measure: (waiting: Waiting) => number | null,
): FleetMetric<'owner'> => ({
  name,
  help,
  labels: ['owner'],
  samples: ({ due }) =>
    LISTENER_OWNERS.flatMap((owner) => {
      const value = measure(due[owner]);
      return value === null ? [] : [{ labels: { owner }, value }];
    }),
});

const DUE = [
  ofOwners(
    'berth_work_due',
    'Deployments whose work waits for a listener, by owner of the listener (platform, tenant).',
    ({ count }) => count,
  ),
  ofOwners(
    'berth_work_due_oldest_timestamp_seconds',
    'Time since which the oldest work item has waited, by owner of its listener. Absent: no work waits.',
    ({ oldestAt }) => oldestAt,
  ),
];

const rolled = (
  name: string,
  help: string,
  count: (rolled: Rolled) => RolledCount,
): FleetMetric<'result'> => ({
  name,
  help,
  labels: ['result'],
  samples: (fleet) =>
    Object.entries(count(fleet.rolled)).map(([result, value]) => ({ labels: { result }, value })),
});

const ROLLED = [
  rolled(
    'berth_deployments_rolled',
    'Deployments with a rollout that ended in the last hour, by result of the newest rollout (deployed, failed). ' +
      'Each deployment counts once.',
    ({ deployments }) => deployments,
  ),
  rolled(
    'berth_tenants_rolled',
    'Tenants with a rollout that ended in the last hour, by result. failed: at least one of their deployments failed.',
    ({ tenants }) => tenants,
  ),
];

const NUMBERS: readonly FleetMetric<never>[] = [
  single(
    'berth_deployments_unreconciled',
    'Deployments whose current generation was not yet observed in the cluster.',
    ({ unreconciled }) => unreconciled,
  ),
  single('berth_branch_polls_due', 'Branches that wait for a poll.', ({ branches }) => branches.count),
  single(
    'berth_branch_polls_due_oldest_timestamp_seconds',
    'Time since which the oldest branch has waited for a poll. Absent: no branch waits.',
    ({ branches }) => branches.oldestAt,
  ),
];

/** @returns a function that sets the reader. Without a reader, and while it fails, the metrics are not exported */
export function fleetMetrics(registry: Registry): (read: () => Promise<Fleet>) => void {
  let read: () => Promise<Fleet> = () =>
    Promise.reject(new Error('failed to read the fleet: the reader is not set'));
  const add = <Label extends string>({ name, help, labels, samples }: FleetMetric<Label>) =>
    gaugeOf({ name, help, labels, registry, read: async () => samples(await read()) });
  add(BY_STATUS);
  add(LISTENERS);
  for (const metric of PULSES) add(metric);
  for (const metric of DUE) add(metric);
  for (const metric of ROLLED) add(metric);
  for (const metric of NUMBERS) add(metric);
  return (next) => {
    read = cached(next);
  };
}

/** Calls between listener and hub that arrive late, twice, or from a former lease holder. */

import { randomBytes } from 'node:crypto';
import { dueWorkStatement } from '../../../src/hub/store/sql/work/due-work.ts';
import { waitFor } from '../../cluster/wait.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { HttpOutcome, HttpRequest } from '../proxies/http-traffic.ts';
import { SETTLED_MS } from '../record.ts';
import type { FaultWorld } from '../world.ts';
import {
  broken,
  Checks,
  change,
  imageChange,
  isStatement,
  isUpToDate,
  runningDeployment,
  within,
} from './steps.ts';

/** Below 60 s, after which the hub hands out unacknowledged work again anyway. */
const DELIVERED_WITHIN_S = 30;
const TAKEN_OVER_MS = 30_000;
/** The listener renews its lease every 10 s. */
const SENT_MS = 30_000;
/** With this key, a plan can send calls as the listener. */
const LISTENER_KEY = randomBytes(32).toString('hex');
const AS_LISTENER = { settings: { BERTH_LISTENER_KEY: LISTENER_KEY } };

/** Sends a call as the listener, in a world with the settings of `AS_LISTENER`. */
const callAsListener = (world: FaultWorld, method: string, path: string, body: unknown) =>
  world.call(method, path, body, { 'x-api-key': LISTENER_KEY });

interface Report {
  readonly kind: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}
interface Body {
  readonly epoch: number | null;
  readonly seq?: number;
  readonly reports?: readonly Report[];
}
interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: Body;
}

const isInProgress = ({ kind, conditions = [] }: Report) =>
  kind === 'observed' && conditions.some(({ type, status }) => type === 'Ready' && status !== 'True');

/** The first call of the listener that matches. Waits for it if necessary. */
function callOf(world: FaultWorld, what: string, isIt: (call: Call) => boolean): Promise<Call> {
  const find = async () =>
    world.hub
      .exchanges('listener')
      .map(({ method, path, body }) => ({ method, path, body: (body ?? {}) as Body }))
      .find(isIt);
  return waitFor(what, find, { timeoutMs: SENT_MS, intervalMs: 100 });
}

const reportInProgress = (world: FaultWorld) =>
  callOf(
    world,
    'a report of the creation in progress',
    ({ path, body }) => path.endsWith('/reports') && (body.reports ?? []).some(isInProgress),
  );

/** The rows that a late call must not change. */
const stateOf = async (world: FaultWorld) =>
  JSON.stringify([
    await world.sql(
      'SELECT generation, acknowledged_generation, observed_generation, active_revision_id, conditions, url FROM deployments',
    ),
    await world.sql('SELECT lease_holder, lease_epoch, version FROM listeners'),
  ]);

interface LateCall {
  readonly name: string;
  readonly says: string;
  /** Whether another listener has the lease when the call arrives. Then the response is 409, otherwise 200. */
  readonly isOfFormer: boolean;
  readonly calls: (world: FaultWorld) => Promise<readonly Call[]>;
}

const FORMER = 'Another listener has the lease.';

const LATE_CALLS: readonly LateCall[] = [
  {
    name: 'lost-response/repeated-report',
    says: 'A report of a creation in progress arrives a second time after the creation: it is answered, and has no effect.',
    isOfFormer: false,
    calls: async (world) => [await reportInProgress(world)],
  },
  {
    name: 'two-of-each/listener/report-of-a-former-term',
    says: `${FORMER} A report of the former holder arrives: 409, and nothing changes.`,
    isOfFormer: true,
    calls: async (world) => {
      const call = await reportInProgress(world);
      // The former holder continues with its own count.
      return [{ ...call, body: { ...call.body, seq: (call.body.seq ?? 0) + 1_000 } }];
    },
  },
  {
    name: 'two-of-each/listener/lease-of-a-former-term',
    says: `${FORMER} A renewal and a release of the former holder arrive: 409, and the lease does not change.`,
    isOfFormer: true,
    calls: async (world) => {
      const isRenewal = ({ method, path, body }: Call) =>
        method === 'PUT' && path.endsWith('/lease') && body.epoch !== null;
      const call = await callOf(world, 'a renewal of the lease', isRenewal);
      return [call, { ...call, body: { ...call.body, release: true } as Body }];
    },
  },
  {
    name: 'two-of-each/listener/inventory-of-a-former-term',
    says: `${FORMER} An inventory of the former holder arrives, from before the deployment existed: 409, and nothing is marked as missing.`,
    isOfFormer: true,
    calls: async (world) => {
      const { id, epoch } = await leaseOf(world);
      const body = { epoch, complete: true, items: [] };
      return [{ method: 'POST', path: `/v2/listeners/${id}/inventory`, body }];
    },
  },
];

const lateCallPlan = ({ name, says, isOfFormer, calls }: LateCall): FaultPlan => ({
  name,
  says,
  ...AS_LISTENER,
  run: async (world): Promise<Violation[]> => {
    await runningDeployment(world);
    const sent = await calls(world);
    if (isOfFormer) {
      await world.restart('listener');
      await world.quiet({ forMs: SETTLED_MS });
    }
    const checks = new Checks();
    for (const { method, path, body } of sent) {
      const before = await stateOf(world);
      const { status } = await callAsListener(world, method, path, body);
      const after = await stateOf(world);
      checks.that(before === after, `the rows were ${before}, and are ${after}`);
      checks.that(status === (isOfFormer ? 409 : 200), `the late call got the status ${status}`);
    }
    return checks.violations;
  },
});

interface LeaseRow {
  id: string;
  epoch: number;
  seq: number;
}
async function leaseOf(world: FaultWorld): Promise<LeaseRow> {
  const [row] = await world.sql<LeaseRow>(
    'SELECT id, lease_epoch::int AS epoch, report_seq::int AS seq FROM listeners',
  );
  if (row === undefined) throw new Error('failed to find the listener');
  return row;
}

const acknowledgedAhead: FaultPlan = {
  name: 'two-of-each/listener/acknowledged-ahead',
  says: 'A generation that the hub does not know, because it was restored from a backup, is reported as applied: later changes are delivered.',
  ...AS_LISTENER,
  run: async (world): Promise<Violation[]> => {
    const { id } = await runningDeployment(world);
    await world.kill('listener');
    const { id: listener, epoch, seq } = await leaseOf(world);
    const reports = [{ kind: 'applied', deployment_id: id, generation: 1_000 }];
    const batch = { epoch, seq: seq + 1, reports };
    const { status } = await callAsListener(world, 'POST', `/v2/listeners/${listener}/reports`, batch);
    await world.restart('listener');
    const late = await deliversChange(world, id);
    return status === 200 ? late : [broken(`the report got the status ${status}`)];
  },
};

async function deliversChange(world: FaultWorld, id: string): Promise<Violation[]> {
  await change(world, id, imageChange('2.0.0'));
  return within(DELIVERED_WITHIN_S, 'the change to be applied', () => isUpToDate(world, id));
}

const isWorkCallOf =
  (name: string) =>
  ({ client, method, path }: HttpRequest) =>
    client === name && method === 'GET' && path.includes('/work?');

const lostWork: FaultPlan = {
  name: 'lost-response/work',
  says: `The response with work is lost: the listener gets the work within ${DELIVERED_WITHIN_S} s.`,
  run: async (world): Promise<Violation[]> => {
    const { id } = await runningDeployment(world);
    const lost = world.hub.add({ match: isWorkCallOf('listener'), fault: { kind: 'lose' }, times: 1 });
    // The current long poll of the listener gets this change. The response to the next one is lost.
    await change(world, id, imageChange('1.5.0'));
    await world.ready(id);
    await lost.waitTaken();
    return deliversChange(world, id);
  },
};

/** Resolves when another listener has the lease, or a statement waits for its row. */
function untilTaken(world: FaultWorld, { epoch }: LeaseRow): Promise<'taken' | 'waited for'> {
  const find = async () => {
    const [waiting] = await world.sql(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
       AND query_start < now() - interval '1 second'`,
    );
    if (waiting !== undefined) return 'waited for';
    return (await leaseOf(world)).epoch > epoch ? 'taken' : undefined;
  };
  return waitFor('the lease to be taken', find, { timeoutMs: TAKEN_OVER_MS, intervalMs: 100 });
}

async function untilInventory(world: FaultWorld): Promise<void> {
  const isSent = async () => world.hub.exchanges().some(inventoryOf('listener-2'));
  await waitFor('its inventory', isSent, { timeoutMs: TAKEN_OVER_MS, intervalMs: 100 });
}

/** A complete inventory. It makes the hub hand out work for objects that are missing in the cluster. */
const inventoryOf =
  (name: string) =>
  ({ client, method, path, status }: HttpRequest & HttpOutcome) =>
    client === name && method === 'POST' && path.endsWith('/inventory') && status === 200;

const handedOutToFormer: FaultPlan = {
  name: 'two-of-each/listener/work-of-a-former-holder',
  says: `The listener is killed while the hub queries its work, and another listener takes the lease or waits for it: that one gets the work within ${DELIVERED_WITHIN_S} s.`,
  run: async (world): Promise<Violation[]> => {
    const { id } = await runningDeployment(world);
    const lease = await leaseOf(world);
    await world.start('listener', 'listener-2');
    const former = world.process('listener');
    const { promise: handedOut, resolve } = Promise.withResolvers<void>();
    // The second listener asks for work only after the response to the first one was sent.
    const match = isWorkCallOf('listener-2');
    world.hub.add({ match, fault: { kind: 'before', run: () => handedOut }, times: 1 });
    const queried = world.postgres.add({
      match: isStatement(dueWorkStatement),
      fault: {
        kind: 'before',
        run: async () => {
          await world.kill('listener');
          world.freeLeases(former).catch(() => undefined);
          if ((await untilTaken(world, lease)) === 'taken') await untilInventory(world);
          setTimeout(resolve, SETTLED_MS);
        },
      },
      times: 1,
    });
    await change(world, id, imageChange('2.0.0'));
    await queried.waitTaken();
    return within(DELIVERED_WITHIN_S, 'the change to be applied', () => isUpToDate(world, id));
  },
};

export const lateCallPlans: readonly FaultPlan[] = [
  ...LATE_CALLS.map(lateCallPlan),
  acknowledgedAhead,
  lostWork,
  handedOutToFormer,
];

/** Calls between listener and hub that come late, twice, or from one that is no more. */

import { randomBytes } from 'node:crypto';
import { dueWorkStatement } from '../../../src/hub/store/sql/work/due-work.ts';
import { waitFor } from '../../cluster/wait.ts';
import { hubEffect } from '../effects.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { HttpOutcome, HttpRequest } from '../proxies/http-traffic.ts';
import { SETTLED_MS } from '../record.ts';
import type { FaultWorld } from '../world.ts';
import { broken, change, imageChange, isStatement, isThere, runningDeployment, within } from './steps.ts';

/** Work comes again after 60 s anyway. */
const DELIVERED_WITHIN_S = 30;
const TAKEN_OVER_MS = 30_000;
/** With it a plan speaks as the listener does. */
const LISTENER_KEY = randomBytes(32).toString('hex');
export const AS_LISTENER = { settings: { BERTH_LISTENER_KEY: LISTENER_KEY } };

/** In a world with the settings of `AS_LISTENER`. */
export const callAsListener = (world: FaultWorld, method: string, path: string, body: unknown) =>
  world.call(method, path, body, { 'x-api-key': LISTENER_KEY });

const tell = (world: FaultWorld, path: string, batch: unknown) => callAsListener(world, 'POST', path, batch);

interface Report {
  readonly kind: string;
  readonly deployment_id: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}
interface Batch {
  readonly epoch: number;
  readonly seq: number;
  readonly reports: readonly Report[];
}

const isUnderWay = ({ kind, conditions = [] }: Report) =>
  kind === 'observed' && conditions.some(({ type, status }) => type === 'Ready' && status !== 'True');

/** The path of reports, and one that told of the creation while it was under way. */
function toldOnTheWay(world: FaultWorld): { path: string; batch: Batch } {
  const found = world.hub
    .exchanges('listener')
    .filter((exchange) => hubEffect(exchange) === 'post reports')
    .map(({ path, body }) => ({ path, batch: body as Batch }))
    .find(({ batch }) => batch.reports.some(isUnderWay));
  if (found === undefined) throw new Error('failed to find a report of the creation on its way');
  return found;
}

const recordOf = async (world: FaultWorld, id: string) =>
  JSON.stringify(
    await world.sql(
      `SELECT generation, acknowledged_generation, observed_generation, active_revision_id, conditions, url
       FROM deployments WHERE id = $1`,
      [id],
    ),
  );

/** What it changes in the record, and how it is answered. */
export async function post(world: FaultWorld, id: string, path: string, batch: object) {
  const before = await recordOf(world, id);
  const { status } = await tell(world, path, batch);
  const after = await recordOf(world, id);
  return { status, changes: before === after ? [] : [broken(`the record was ${before}, and is ${after}`)] };
}

const reportAgain: FaultPlan = {
  name: 'lost-response/repeated-report',
  says: 'A report of a creation in progress arrives a second time after the creation: it is answered, and has no effect.',
  ...AS_LISTENER,
  run: async (world): Promise<Violation[]> => {
    const { id } = await runningDeployment(world);
    const { path, batch } = toldOnTheWay(world);
    const { status, changes } = await post(world, id, path, batch);
    return status === 200 ? changes : [broken(`the repeated report was answered ${status}`)];
  },
};

const reportOfFormer: FaultPlan = {
  name: 'two-of-each/listener/report-of-a-former-term',
  says: 'Another listener has the lease. A report of the former holder arrives: 409, and nothing changes.',
  ...AS_LISTENER,
  run: async (world): Promise<Violation[]> => {
    const { id } = await runningDeployment(world);
    const { path, batch } = toldOnTheWay(world);
    await world.restart('listener');
    await world.quiet({ forMs: SETTLED_MS });
    // Whoever sleeps goes on with its own count.
    const { status, changes } = await post(world, id, path, { ...batch, seq: batch.seq + 1_000 });
    return status === 409 ? changes : [...changes, broken(`the late report was answered ${status}`)];
  },
};

interface LeaseRow {
  id: string;
  epoch: number;
  seq: number;
}
export async function leaseOf(world: FaultWorld): Promise<LeaseRow> {
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
    const { status } = await tell(world, `/v2/listeners/${listener}/reports`, batch);
    await world.restart('listener');
    const late = await deliversAChange(world, id);
    return status === 200 ? late : [broken(`the report was answered ${status}`)];
  },
};

async function deliversAChange(world: FaultWorld, id: string): Promise<Violation[]> {
  await change(world, id, imageChange('2.0.0'));
  return within(DELIVERED_WITHIN_S, 'the change to be there', () => isThere(world, id));
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
    // Its present call is answered with this; the next one is what will be lost.
    await change(world, id, imageChange('1.5.0'));
    await world.ready(id);
    await lost.waitTaken();
    return deliversAChange(world, id);
  },
};

/** Resolves when another one has the lease, or waits for it. */
function untilTaken(world: FaultWorld, { epoch }: LeaseRow): Promise<'taken' | 'waited for'> {
  const look = async () => {
    const [waiting] = await world.sql(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
       AND query_start < now() - interval '1 second'`,
    );
    if (waiting !== undefined) return 'waited for';
    return (await leaseOf(world)).epoch > epoch ? 'taken' : undefined;
  };
  return waitFor('the lease to be taken', look, { timeoutMs: TAKEN_OVER_MS, intervalMs: 100 });
}

async function untilTold(world: FaultWorld): Promise<void> {
  const isTold = async () => world.hub.exchanges().some(inventoryOf('listener-2'));
  await waitFor('its inventory', isTold, { timeoutMs: TAKEN_OVER_MS, intervalMs: 100 });
}

/** A complete inventory makes what is missing in the cluster due by itself. */
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
    // Asks when the answer to the former one is on its way.
    const match = isWorkCallOf('listener-2');
    world.hub.add({ match, fault: { kind: 'before', run: () => handedOut }, times: 1 });
    const looked = world.postgres.add({
      match: isStatement(dueWorkStatement),
      fault: {
        kind: 'before',
        run: async () => {
          await world.kill('listener');
          world.freeLeases(former).catch(() => undefined);
          if ((await untilTaken(world, lease)) === 'taken') await untilTold(world);
          setTimeout(resolve, SETTLED_MS);
        },
      },
      times: 1,
    });
    await change(world, id, imageChange('2.0.0'));
    await looked.waitTaken();
    return within(DELIVERED_WITHIN_S, 'the change to be there', () => isThere(world, id));
  },
};

export const lateCallPlans: readonly FaultPlan[] = [
  reportAgain,
  reportOfFormer,
  acknowledgedAhead,
  lostWork,
  handedOutToFormer,
];

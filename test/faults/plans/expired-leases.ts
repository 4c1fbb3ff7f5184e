/** A lease that was another's meanwhile is not taken back by one who held it before, nor spoken for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../cluster/wait.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import { SETTLED_MS } from '../record.ts';
import type { FaultWorld } from '../world.ts';
import { AS_LISTENER, callAsListener, leaseOf, post } from './late-calls.ts';
import { broken, runningDeployment } from './steps.ts';
import { isHeldBy, leaderOf, untilLeads } from './takeover.ts';

/** It looks at the lease at least every 2 s. */
const LOOKS_MS = 6_000;
const RENEWED_MS = 30_000;

const wokenCandidate: FaultPlan = {
  name: 'two-of-each/operator/lease-of-the-successor',
  says: 'The operator is stopped until another operator leads, and then continues: it does not write the lease, and the other one keeps it.',
  run: async (world): Promise<Violation[]> => {
    await runningDeployment(world);
    const successor = await world.start('operator', 'operator-2');
    const former = world.process('operator');
    former.signal('SIGSTOP');
    await untilLeads(world, successor);
    const from = Date.now();
    former.signal('SIGCONT');
    await sleep(LOOKS_MS);
    const looked = world.kubernetes
      .exchanges('operator')
      .filter(({ resource, at }) => resource === 'leases' && at >= from);
    if (looked.length === 0) return [broken('it did not look at the lease')];
    const taken = looked.filter(({ verb, upstreamStatus }) => verb === 'update' && upstreamStatus === 200);
    const leader = await leaderOf(world, 'operator');
    return [
      ...taken.map(() => broken('one that was replaced has written the lease of one that lives')),
      ...(isHeldBy(leader, successor) ? [] : [broken(`${leader} leads, not ${successor.name}`)]),
    ];
  },
};

interface Claim {
  readonly path: string;
  readonly body: { readonly epoch: number | null };
}

/** The next renewal that the listener sends. */
function renewal(world: FaultWorld): Promise<Claim> {
  const isRenewal = ({ epoch }: Claim['body']) => epoch !== null;
  const look = async () =>
    world.hub
      .exchanges('listener')
      .filter(({ method, path }) => method === 'PUT' && path.endsWith('/lease'))
      .map(({ path, body }) => ({ path, body: body as Claim['body'] }))
      .find(({ body }) => isRenewal(body));
  return waitFor('a renewal of the lease', look, { timeoutMs: RENEWED_MS, intervalMs: 100 });
}

const holderOf = async (world: FaultWorld) =>
  JSON.stringify(await world.sql('SELECT lease_holder, lease_epoch, version FROM listeners'));

const lateRenewal: FaultPlan = {
  name: 'two-of-each/listener/lease-of-a-former-term',
  says: 'Another listener has the lease. A renewal and a release of the former holder arrive: 409, and the lease does not change.',
  ...AS_LISTENER,
  run: async (world): Promise<Violation[]> => {
    await runningDeployment(world);
    const { path, body } = await renewal(world);
    await world.restart('listener');
    await world.quiet({ forMs: SETTLED_MS });
    const violations: Violation[] = [];
    for (const more of [{}, { release: true }]) {
      const before = await holderOf(world);
      const { status } = await callAsListener(world, 'PUT', path, { ...body, ...more });
      const after = await holderOf(world);
      if (after !== before) violations.push(broken(`the lease was ${before}, and is ${after}`));
      else if (status !== 409) violations.push(broken(`the late call was answered ${status}`));
    }
    return violations;
  },
};

const lateInventory: FaultPlan = {
  name: 'two-of-each/listener/inventory-of-a-former-term',
  says: 'Another listener has the lease. An inventory of the former holder arrives, from before the deployment existed: 409, and nothing is marked as missing.',
  ...AS_LISTENER,
  run: async (world): Promise<Violation[]> => {
    const { id } = await runningDeployment(world);
    const { id: listener, epoch } = await leaseOf(world);
    await world.restart('listener');
    await world.quiet({ forMs: SETTLED_MS });
    const path = `/v2/listeners/${listener}/inventory`;
    const { status, changes } = await post(world, id, path, { epoch, complete: true, items: [] });
    return status === 409 ? changes : [...changes, broken(`the late inventory was answered ${status}`)];
  },
};

export const expiredLeasePlans: readonly FaultPlan[] = [wokenCandidate, lateRenewal, lateInventory];

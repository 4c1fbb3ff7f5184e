/** The owner switches the database on again while its volume is being removed: the volume stays, or the change is rejected. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { waitFor } from '../../cluster/wait.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { KubernetesRequest } from '../proxies/kubernetes-traffic.ts';
import { callUntilAnswered } from '../retrying-client.ts';
import { confirmsRemoval } from '../workloads.ts';
import type { FaultWorld } from '../world.ts';
import { Checks, change, live, runningDeployment } from './steps.ts';
import { pauseAt, untilLeads } from './takeover.ts';

const HELD_MS = 60_000;
const APPLIED_MS = 30_000;

/** With the first list, the listener notes the claim to which the confirmation applies. With the second, it starts the removal. */
const READ_OF_REMOVAL = 2;

const isListOfClaims = ({ client, verb, resource }: KubernetesRequest) =>
  client === 'listener' && verb === 'list' && resource === 'persistentvolumeclaims';

interface Fields {
  readonly spec?: { readonly database?: { readonly removeVolume?: boolean } };
}

const ON = { source_config: { database: { enabled: true } } };
const OFF = { source_config: { database: { enabled: false } } };
const REMOVED = { source_config: { database: { enabled: false, remove_volume: true } } };
/** What the database needs to return. */
const RECREATED = ['StatefulSet', 'Service', 'NetworkPolicy'];
/** Time in which a listener without work removes a volume, if it removes it. */
const IDLE_MS = 5000;

/** A running deployment whose database is switched off, with its claim. */
async function switchedOff(world: FaultWorld) {
  const { id, app } = await runningDeployment(world);
  const claim = () => live(world, RESOURCES.PersistentVolumeClaim, `${app}-db`);
  const { uid } = (await claim()).metadata;
  await change(world, id, OFF);
  await world.ready(id);
  return { id, app, uid, claim };
}

/** Confirms the removal, and holds the listener at its start. @returns how to release the listener */
async function confirmAndHold(world: FaultWorld, id: string): Promise<() => void> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let lists = 0;
  const rule = world.kubernetes.add({
    match: (request) => isListOfClaims(request) && ++lists === READ_OF_REMOVAL,
    fault: { kind: 'before', run: () => released },
    times: 1,
  });
  await change(world, id, REMOVED);
  await rule.waitTaken(1, HELD_MS);
  return release;
}

const databaseReturns: FaultPlan = {
  name: 'deletion/volume/database-returns',
  says: 'The owner removes the volume of the database. The database is switched on again while the listener reads the claim: the claim stays.',
  recreates: RECREATED,
  run: async (world): Promise<Violation[]> => {
    const checks = new Checks();
    const { id, app, uid, claim } = await switchedOff(world);
    const release = await confirmAndHold(world, id);
    await change(world, id, ON);
    const isApplied = async () => {
      const { spec } = (await live(world, RESOURCES.ManagedDeployment, app)) as Fields;
      return spec?.database?.removeVolume !== true;
    };
    await waitFor('the change to be applied', isApplied, { timeoutMs: APPLIED_MS, intervalMs: 50 });
    release();
    await world.ready(id);
    const { metadata } = await claim();
    checks.that(metadata.uid === uid, 'the volume claim was deleted and created again');
    checks.that(metadata.deletionTimestamp === undefined, 'the volume claim is being deleted');
    return checks.violations;
  },
};

const takenBack: FaultPlan = {
  name: 'deletion/volume/taken-back',
  says: 'The listener is killed between the confirmation and the removal of a volume. The database is switched on, and the next listener gets this change late: the claim stays.',
  recreates: RECREATED,
  run: async (world): Promise<Violation[]> => {
    const checks = new Checks();
    const { id, uid, claim } = await switchedOff(world);
    const release = await confirmAndHold(world, id);
    await world.kill('listener');
    release();
    await change(world, id, ON);
    const late = world.hub.add({
      match: ({ path }) => path.includes('/work?'),
      fault: { kind: 'before', run: () => sleep(IDLE_MS) },
      times: 1,
    });
    await world.restart('listener');
    await late.waitTaken(1, HELD_MS);
    await world.ready(id);
    const { metadata } = await claim();
    checks.that(metadata.uid === uid, 'the volume claim was deleted and created again');
    checks.that(metadata.deletionTimestamp === undefined, 'the volume claim is being deleted');
    return checks.violations;
  },
};

const begun: FaultPlan = {
  name: 'deletion/volume/begun',
  says: 'The listener is stopped (SIGSTOP) before it deletes a volume. A request to switch the database on is rejected, and the next listener deletes the volume. Later the database starts empty, and the former listener deletes nothing.',
  recreates: [...RECREATED, 'PersistentVolumeClaim'],
  run: async (world): Promise<Violation[]> => {
    const checks = new Checks();
    const { id, uid, claim } = await switchedOff(world);
    const stopped = pauseAt(world, 'listener', 'delete persistentvolumeclaims shop-x-db');
    await change(world, id, REMOVED);
    await stopped.paused;
    const { status } = await callUntilAnswered(world, 'PATCH', `/v2/deployments/${id}`, ON);
    checks.that(status === 409, `the change was not rejected: ${status}`);
    await untilLeads(world, await world.start('listener', 'listener-2'));
    const isEnded = async () => !(await confirmsRemoval(world, id));
    await waitFor('the end of the removal', isEnded, { timeoutMs: HELD_MS, intervalMs: 100 });
    await change(world, id, ON);
    await world.ready(id);
    const later = await claim();
    checks.that(later.metadata.uid !== uid, 'the volume claim was not deleted');
    const writes = await stopped.resume();
    checks.none(
      'deleted by the former listener',
      writes.filter(({ isAccepted }) => isAccepted).map(({ line }) => line),
    );
    const { metadata } = await claim();
    const isSame = metadata.uid === later.metadata.uid && metadata.deletionTimestamp === undefined;
    checks.that(isSame, 'the later volume claim was deleted');
    return checks.violations;
  },
};

export const volumeRemovalPlans: readonly FaultPlan[] = [databaseReturns, takenBack, begun];

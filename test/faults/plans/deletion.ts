/** DELETE during a creation, and reuse of a name during a deletion: nothing is left or mixed up. */
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { waitFor } from '../../cluster/wait.ts';
import { smallDeployment } from '../../integration/harness/samples.ts';
import { type Effect, effectName, hubEffect, kubernetesEffect, Occurrences } from '../effects.ts';
import { markForeign } from '../oracles/foreign-fields.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { ActiveRule, KubernetesRequest } from '../proxies/kubernetes-traffic.ts';
import { readRecording, SETTLED_MS } from '../record.ts';
import { callUntilSuccess } from '../retrying-client.ts';
import type { FaultWorld } from '../world.ts';
import { EffectDidNotOccur } from './kill.ts';
import { Checks, serving, untilGone } from './steps.ts';

const NAME = 'shop';
/** Time for the listener to receive the deletion, if it can do so while the write is held. */
const DELETED_MS = 3_000;
const CREATIONS = /^(?:create|apply) /;
/** Time for the garbage collector to delete the objects whose owner was deleted. */
const COLLECTED_MS = 30_000;

/** Writes during which a DELETE can arrive: those by which listener and operator create the objects of a deployment. */
function creations(): Effect[] {
  const recorded = readRecording()['create'] ?? [];
  return recorded.filter(({ role, what }) => role !== 'api' && CREATIONS.test(what));
}

async function resourceOf(world: FaultWorld, id: string) {
  const { namespace } = world;
  const { items } = await world.admin.list(RESOURCES.ManagedDeployment, { namespace });
  return items.find((item) => (item['spec'] as { deploymentId?: string }).deploymentId === id);
}

/** Resolves when the custom resource is deleted or terminating, or after a timeout: the deletion may wait for the held write. */
async function untilDeletionIsKnown(world: FaultWorld, id: string): Promise<void> {
  const isKnown = async () => {
    const resource = await resourceOf(world, id);
    return resource === undefined || resource.metadata.deletionTimestamp !== undefined;
  };
  await waitFor('the deletion to be known', isKnown, { timeoutMs: DELETED_MS }).catch(() => undefined);
}

/** Checks that the namespace contains no object of the deployment with this id. */
async function nothingLeft(world: FaultWorld, id: string, checks: Checks): Promise<void> {
  const kinds = 'mdep,deploy,rs,sts,svc,secret,sa,pvc,hpa,pdb,netpol,controllerrevision,pod';
  const list = async () => {
    const args = ['get', kinds, '-l', `berth.dev/deployment-id=${id}`, '-o', 'name', '--ignore-not-found'];
    return (await world.kubectl(...args)).trim();
  };
  await waitFor('nothing to be left', async () => (await list()) === '', {
    timeoutMs: COLLECTED_MS,
    intervalMs: 500,
  }).catch(async () => checks.none('left in the cluster', (await list()).split('\n')));
}

function duringCreate(effect: Effect): FaultPlan {
  const { role, what, occurrence } = effect;
  return {
    name: `deletion/during-create/${effectName(effect)}`,
    inSubset: what.startsWith('create persistentvolumeclaims'),
    says: `DELETE is acknowledged while the ${role}'s "${what}" is held. Then the write continues: nothing is left.`,
    run: async (world): Promise<Violation[]> => {
      const checks = new Checks();
      const occurrences = new Occurrences();
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const rule = world.kubernetes.add({
        match: (request: KubernetesRequest) =>
          request.client === role &&
          kubernetesEffect(request) === what &&
          occurrences.next(what) === occurrence,
        fault: { kind: 'before', run: () => released },
        times: 1,
      });
      const { id } = await world.create(
        smallDeployment(NAME, { secrets: [{ name: 'TOKEN', value: 'first' }] }),
      );
      await rule.waitTaken(1, COLLECTED_MS).catch(() => {
        throw new EffectDidNotOccur(effect);
      });
      await callUntilSuccess(world, 'DELETE', `/v2/deployments/${id}`);
      await untilDeletionIsKnown(world, id);
      release();
      await untilGone(world, id);
      await nothingLeft(world, id, checks);
      return checks.violations;
    },
  };
}

/** Writes that succeed even after the deletion: the API server accepts a POST of an object whose owner no longer exists. */
function posts(): Effect[] {
  const recorded = readRecording()['create'] ?? [];
  return recorded.filter(({ role, what }) => role === 'operator' && what.startsWith('create '));
}

function afterwards(effect: Effect): FaultPlan {
  const { role, what } = effect;
  return {
    name: `deletion/afterwards/${effectName(effect)}`,
    says: `The ${role}'s "${what}" is held until its deployment is deleted, and then carried out: nothing is left.`,
    run: async (world): Promise<Violation[]> => {
      const checks = new Checks();
      const { promise: gone, resolve: isOver } = Promise.withResolvers<void>();
      const isIt = (request: KubernetesRequest) =>
        request.client === role && kubernetesEffect(request) === what;
      const rule = world.kubernetes.add({
        match: isIt,
        fault: { kind: 'before', run: () => gone },
        times: 1,
      });
      const { id } = await world.create(smallDeployment(NAME));
      await rule.waitTaken(1, COLLECTED_MS).catch(() => {
        throw new EffectDidNotOccur(effect);
      });
      await callUntilSuccess(world, 'DELETE', `/v2/deployments/${id}`);
      await untilGone(world, id);
      const from = Date.now();
      isOver();
      const isCarriedOut = () =>
        world.kubernetes
          .exchanges(role)
          .some((exchange) => isIt(exchange) && exchange.upstreamStatus === 201);
      // Calls have a deadline. On a slow machine, the operator may have given up before.
      await waitFor(`${what} to be carried out`, async () => isCarriedOut(), { timeoutMs: DELETED_MS }).catch(
        () => {
          throw new EffectDidNotOccur(effect);
        },
      );
      await nothingLeft(world, id, checks);
      const since = world.kubernetes
        .exchanges(role)
        .filter(({ at, endedAt }) => Math.max(at, endedAt) >= from);
      const lines = since.map(({ verb, path, status }) => `${verb} ${path} ${status}`);
      if (checks.violations.length > 0) checks.none(`requests of the ${role} after that`, lines);
      return checks.violations;
    },
  };
}

/** Whether a report says that no object of a deployment is left. */
const reportsPurged = (body: unknown) => JSON.stringify(body ?? null).includes('"kind":"purged"');

interface DeletionMoment {
  readonly says: string;
  /** Holds a step of the deletion until `free` resolves. Undefined: no step is held. */
  readonly hold?: (world: FaultWorld, free: Promise<void>) => ActiveRule;
}

const MOMENTS: Readonly<Record<string, DeletionMoment>> = {
  'at-once': { says: 'as soon as DELETE is answered' },
  'before-the-cluster-knows': {
    says: 'before the listener has deleted the custom resource',
    hold: (world, free) =>
      world.kubernetes.add({
        match: ({ client, verb, resource }) =>
          client === 'listener' && verb === 'delete' && resource === 'manageddeployments',
        fault: { kind: 'before', run: () => free },
        times: 1,
      }),
  },
  'before-the-hub-knows': {
    says: 'when everything is deleted and the hub does not know',
    hold: (world, free) =>
      world.hub.add({
        match: (request) => hubEffect(request) === 'post reports' && reportsPurged(request.body),
        fault: { kind: 'before', run: () => free },
        times: 1,
      }),
  },
};

/** @param at name of the moment of the deletion at which the name is used again */
function sameName(at: string, { says, hold }: DeletionMoment): FaultPlan {
  return {
    name: `deletion/same-name/${at}`,
    says: `A deployment of the same name is created ${says}: the new one becomes READY, and nothing is left of the old one.`,
    run: async (world): Promise<Violation[]> => {
      const checks = new Checks();
      const old = await serving(world, NAME);
      await world.quiet({ forMs: SETTLED_MS });
      const { promise: taken, resolve: nameIsTaken } = Promise.withResolvers<void>();
      const rule = hold?.(world, taken);
      await callUntilSuccess(world, 'DELETE', `/v2/deployments/${old}`);
      await rule?.waitTaken(1, COLLECTED_MS);
      const again = await callUntilSuccess(world, 'POST', '/v2/deployments', smallDeployment(NAME));
      checks.that(again.id !== old, 'the new deployment is the old one');
      nameIsTaken();
      await untilGone(world, old);
      const ready = await world.ready(again.id);
      await markForeign(world, again.id);
      checks.that(ready.name === NAME, `the name of the new deployment is ${ready.name}`);
      await nothingLeft(world, old, checks);
      return checks.violations;
    },
  };
}

const TIMES = 5;

const overAndOver: FaultPlan = {
  name: 'deletion/same-name/repeated',
  says: `One name is created and deleted ${TIMES} times without waiting, and then created: only the last deployment exists.`,
  run: async (world): Promise<Violation[]> => {
    const checks = new Checks();
    const gone: string[] = [];
    for (let time = 0; time < TIMES; time += 1) {
      const { id } = await world.create(smallDeployment(NAME));
      await callUntilSuccess(world, 'DELETE', `/v2/deployments/${id}`);
      gone.push(id);
    }
    const last = await world.create(smallDeployment(NAME));
    await world.ready(last.id);
    await markForeign(world, last.id);
    await Promise.all(gone.map((id) => untilGone(world, id)));
    for (const id of gone) await nothingLeft(world, id, checks);
    return checks.violations;
  },
};

export const deletionPlans: readonly FaultPlan[] = [
  ...creations().map(duringCreate),
  ...posts().map(afterwards),
  ...Object.entries(MOMENTS).map(([at, moment]) => sameName(at, moment)),
  overAndOver,
];

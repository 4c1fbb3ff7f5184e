/** The view that a role has of the cluster is older than its own writes, or than the state of the API server. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { ANNOTATIONS, appName } from '../../../src/contract/resource/names.ts';
import { smallDeployment } from '../../integration/harness/samples.ts';
import { kubernetesEffect } from '../effects.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { KubernetesRequest, KubernetesVerb } from '../proxies/kubernetes-traffic.ts';
import { SETTLED_MS } from '../record.ts';
import { callUntilSuccess } from '../retrying-client.ts';
import type { FaultWorld } from '../world.ts';
import {
  broken,
  change,
  imageChange,
  isUpToDate,
  live,
  runningDeployment,
  scaleOf,
  untilGone,
  within,
} from './steps.ts';

/** How long the operator has only old data. */
const BLIND_MS = 5_000;
const RECOVERED_WITHIN_S = 30;

const operatorCall =
  (verb: KubernetesVerb, resource: string) =>
  (request: KubernetesRequest): boolean =>
    request.client === 'operator' && request.verb === verb && request.resource === resource;

/** Ends the open watch with 410, so that its position is lost. */
const endWith410 = (world: FaultWorld, resource: string) =>
  world.kubernetes.add({
    match: operatorCall('watch', resource),
    fault: { kind: 'cut-watch', afterEvents: 0, how: 'gone-event' },
    times: 1,
  });

const deletedUnseen: FaultPlan = {
  name: 'deletion/unseen/operator',
  says: 'The operator sees that the objects of a deployment are deleted, but not that its custom resource is: it creates none of them again.',
  run: async (world): Promise<Violation[]> => {
    const { id } = await runningDeployment(world);
    const blind = world.kubernetes.add({
      match: operatorCall('watch', 'manageddeployments'),
      fault: { kind: 'filter-watch', drop: () => true },
    });
    await callUntilSuccess(world, 'DELETE', `/v2/deployments/${id}`);
    const from = Date.now();
    await untilGone(world, id);
    await sleep(BLIND_MS);
    const made = world.kubernetes
      .exchanges('operator')
      .filter(({ at, upstreamStatus }) => at >= from && upstreamStatus === 201)
      .map((exchange) => kubernetesEffect(exchange) ?? '')
      .filter((effect) => /^(?:create|apply) /.test(effect));
    blind.remove();
    await endWith410(world, 'manageddeployments').waitTaken();
    await sleep(SETTLED_MS);
    if (blind.taken() === 0) return [broken('no watch was silenced')];
    return made.map((effect) => broken(`created for a deleted deployment: ${effect}`));
  },
};

const ownDeleteUnseen: FaultPlan = {
  name: 'watch/unseen/own-delete',
  says: 'The operator has deleted an autoscaler, and its watch does not show this: it is not deleted again, and the rest is done when the watch has restarted.',
  run: async (world): Promise<Violation[]> => {
    const { id, app } = await runningDeployment(world, { min_scale: 1, max_scale: 3 });
    const resource = 'horizontalpodautoscalers';
    const blind = world.kubernetes.add({
      match: operatorCall('watch', resource),
      fault: { kind: 'filter-watch', drop: () => true },
    });
    await change(world, id, scaleOf(2));
    const deletes = () =>
      world.kubernetes
        .exchanges('operator')
        .filter((exchange) => operatorCall('delete', resource)(exchange) && exchange.name === `${app}-api`);
    const missed = await within(30, 'the autoscaler to be deleted', async () => deletes().length > 0);
    await sleep(BLIND_MS);
    const count = deletes().length;
    blind.remove();
    endWith410(world, resource);
    await world.ready(id);
    if (blind.taken() === 0) return [broken('no watch was silenced')];
    const answers = deletes().map(({ upstreamStatus }) => upstreamStatus);
    return [...missed, ...(count > 1 ? [broken(`deleted ${count} times, answered ${answers.join()}`)] : [])];
  },
};

const olderList: FaultPlan = {
  name: 'stale-list/after-410/operator',
  says: 'The watch of custom resources ends with 410, and the next list is older than the known state: it has no effect.',
  recreates: [RESOURCES.PodDisruptionBudget.kind],
  run: async (world): Promise<Violation[]> => {
    const { id, app } = await runningDeployment(world, { min_scale: 2, max_scale: 2 });
    await change(world, id, scaleOf(1));
    await world.ready(id);
    await world.quiet({ forMs: SETTLED_MS });
    world.kubernetes.recordLists('manageddeployments');
    await world.restart('operator');
    await world.quiet({ forMs: SETTLED_MS });
    await change(world, id, scaleOf(2));
    await world.ready(id);
    await world.quiet({ forMs: SETTLED_MS });
    const before = await live(world, RESOURCES.Deployment, `${app}-api`);
    const list = operatorCall('list', 'manageddeployments');
    const old = world.kubernetes.add({ match: list, fault: { kind: 'stale-list' }, times: 1 });
    // Delays the watch, which would correct the old list.
    world.kubernetes.add({
      match: operatorCall('watch', 'manageddeployments'),
      fault: { kind: 'delay', ms: BLIND_MS },
      times: 1,
    });
    endWith410(world, 'manageddeployments');
    await old.waitTaken();
    await sleep(BLIND_MS);
    await world.ready(id);
    await world.quiet({ forMs: SETTLED_MS });
    const after = await live(world, RESOURCES.Deployment, `${app}-api`);
    const [then, now] = [before.metadata.generation, after.metadata.generation];
    return then === now ? [] : [broken(`acted on an old list: generation ${then} became ${now}`)];
  },
};

const goneUntilListed: FaultPlan = {
  name: 'watch/gone-until-listed/operator',
  says: 'The watch of custom resources ends, and each new watch is answered 410 until a list: a change is applied within 30 s.',
  run: async (world): Promise<Violation[]> => {
    const { id } = await runningDeployment(world);
    let isListed = false;
    const list = operatorCall('list', 'manageddeployments');
    const watch = operatorCall('watch', 'manageddeployments');
    const gone = world.kubernetes.add({
      match: (request) => {
        isListed ||= list(request);
        return watch(request) && !isListed;
      },
      fault: { kind: 'answer', status: 410 },
    });
    // Ends without an error. After a 410 as an event, the operator would list before it watches again.
    world.kubernetes.add({
      match: watch,
      fault: { kind: 'cut-watch', afterEvents: 0, how: 'end' },
      times: 1,
    });
    await change(world, id, imageChange('2.0.0'));
    const late = await within(RECOVERED_WITHIN_S, 'the change to be applied', () => isUpToDate(world, id));
    if (late.length > 0) return late;
    return isListed && gone.taken() > 0 ? [] : [broken('no watch got a 410')];
  },
};

const REPORTED_WITHIN_S = 30;

/** Creates a custom resource with the name of a deployment that is not in the cluster yet. It is paused, so the operator ignores it. */
async function foreignNamed(world: FaultWorld, name: string, model: string): Promise<UntypedObject> {
  const { apiVersion, kind, spec } = await live(world, RESOURCES.ManagedDeployment, model);
  const { namespace } = world;
  const metadata = { name, namespace, annotations: { [ANNOTATIONS.paused]: 'true' } };
  const deploymentId = crypto.randomUUID();
  const object = { apiVersion, kind, metadata, spec: { ...(spec as object), deploymentId } };
  return world.admin.create(object as unknown as UntypedObject);
}

const foreignResource: FaultPlan = {
  name: 'immutable/foreign/manageddeployments',
  says: 'A custom resource of another deployment has the name: it is left alone, reported as a conflict, and not deleted.',
  run: async (world): Promise<Violation[]> => {
    const model = await runningDeployment(world, {}, 'model');
    await world.kill('listener');
    const { id } = await world.create(smallDeployment('shop'));
    const name = appName('shop', id);
    const made = await foreignNamed(world, name, model.app);
    await world.restart('listener');
    const reported = await within(REPORTED_WITHIN_S, 'the conflict to be reported', async () => {
      const { conditions } = (await world.call('GET', `/v2/deployments/${id}`)).body;
      return conditions.some(({ reason, message }) => reason === 'Conflict' && message.includes(name));
    });
    await callUntilSuccess(world, 'DELETE', `/v2/deployments/${id}`);
    await untilGone(world, id);
    const { namespace } = world;
    const now = await world.admin.find<UntypedObject>(RESOURCES.ManagedDeployment, { namespace, name });
    const isKept =
      now?.metadata.uid === made.metadata.uid &&
      now?.metadata.deletionTimestamp === undefined &&
      JSON.stringify(now?.['spec']) === JSON.stringify(made['spec']);
    await world.kubectl('delete', 'manageddeployments', name, '--ignore-not-found', '--wait=true');
    return isKept ? reported : [...reported, broken('the custom resource of another deployment was changed')];
  },
};

/** @param what the write of the operator that is held until the second change is in the cluster */
const changedMeanwhile = (name: string, what: string): FaultPlan => ({
  name: `burst/${name}`,
  says: `Another change reaches the cluster before the operator's "${what}" of the first one, whose rollout is not recorded yet: the first one is never started.`,
  run: async (world): Promise<Violation[]> => {
    const { id, app } = await runningDeployment(world);
    const [first, second] = [imageChange('2.0.0'), imageChange('3.0.0')];
    const wanted = async () =>
      JSON.stringify((await live(world, RESOURCES.ManagedDeployment, app))['spec']).includes(
        second.source_revision_config.image_uri,
      );
    const { promise: overtaken, resolve: release } = Promise.withResolvers<void>();
    const held = world.kubernetes.add({
      match: (request) => request.client === 'operator' && kubernetesEffect(request) === what,
      fault: { kind: 'before', run: () => overtaken },
      times: 1,
    });
    await change(world, id, first);
    await held.waitTaken();
    await change(world, id, second);
    const missed = await within(RECOVERED_WITHIN_S, 'the second change to reach the cluster', wanted);
    release();
    await world.ready(id);
    const begun = world.kubernetes
      .exchanges('operator')
      .filter((exchange) => kubernetesEffect(exchange) === 'apply deployments shop-x-api')
      .filter(({ body }) => JSON.stringify(body).includes(first.source_revision_config.image_uri));
    return begun.length === 0
      ? missed
      : [broken('the first change was started, although it was no longer desired')];
  },
});

export const staleViewPlans: readonly FaultPlan[] = [
  changedMeanwhile('changed-before-recorded', 'update manageddeployments-status shop-x'),
  changedMeanwhile('changed-before-stored', 'create controllerrevisions shop-x-2'),
  deletedUnseen,
  ownDeleteUnseen,
  olderList,
  goneUntilListed,
  foreignResource,
];

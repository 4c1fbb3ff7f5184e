import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES, type Resource } from '../../../src/cluster/kube/client/resources.ts';
import { isSecretSentinel } from '../../../src/workloads/objects/secret-sentinel.ts';
import { waitFor } from '../../cluster/wait.ts';
import type { Bench, Sample } from '../bench.ts';
import { type Apps, isApi, isAvailable, isSettled, type SeenApp } from './apps.ts';
import { type ClusterBerth, eachOf } from './berth.ts';
import { patience } from './fill.ts';
import { percentiles } from './latencies.ts';
import { body } from './samples.ts';
import { withWorld } from './sides.ts';

/** As many as make a p99. */
const DELETIONS = 100;
const DEPLOYMENTS = 5;
/** Deletions of each kind that do not count: twice each deployment's. */
const WARM_UP = 2 * DEPLOYMENTS;
const LOOK_MS = 10;
const GOAL_MS = 1000;

/** A child of a deployment that somebody deletes. */
interface Child {
  /** Of its measures. */
  readonly name: string;
  readonly resource: Resource;
  /** Which of its kind it may be, where there are several; of those that remain, each in turn. */
  is(object: UntypedObject, app: SeenApp): boolean;
  /** Nothing of its return is under way any more, and it would be noticed if it went again. */
  isBack(app: SeenApp, object: UntypedObject): boolean;
  /** Until it would be noticed takes seconds in which nothing is under way: others are deleted meanwhile. */
  readonly isNoticedLate: boolean;
}

const ofKind = (resource: Resource): Child => ({
  name: resource.kind,
  resource,
  is: ({ kind }) => kind === resource.kind,
  isBack: () => true,
  isNoticedLate: false,
});

/** Nobody may watch Secrets: their witness tells of them, once it names the new one. */
const isWitnessed = ({ objects }: SeenApp, { metadata: { uid } }: UntypedObject) =>
  [...objects.values()].some(
    (object) =>
      isSecretSentinel(object) && object.metadata.ownerReferences?.some((owner) => owner.uid === uid),
  );

/** With what any deployment may have: database and cache, two to three pods. */
const bodyWithAll = (name: string) => {
  const { source_config: config, ...rest } = body(name, 1);
  const spec = { ...config.resource_spec, min_scale: 2, max_scale: 3 };
  return { ...rest, source_config: { ...config, resource_spec: spec } };
};

const isSecret = ({ kind }: UntypedObject) => kind === RESOURCES.Secret.kind;

const isEnvironment = (object: UntypedObject, app: SeenApp) =>
  isSecret(object) && object.metadata.name.startsWith(`${app.name}-env-`);

const ofSecret: Child = { ...ofKind(RESOURCES.Secret), isBack: isWitnessed, isNoticedLate: true };

/**
 * The kinds of such a deployment that its pods run by; the environment is the listener's, all others the operator's. A claim
 * stays as long as a pod has it, whoever deletes it.
 */
const CHILDREN: readonly Child[] = [
  { ...ofKind(RESOURCES.Deployment), is: isApi, isBack: (_app, object) => isAvailable(object) },
  { ...ofKind(RESOURCES.StatefulSet), isBack: (_app, object) => isAvailable(object) },
  ofKind(RESOURCES.Service),
  ofKind(RESOURCES.ServiceAccount),
  ofKind(RESOURCES.NetworkPolicy),
  ofKind(RESOURCES.HorizontalPodAutoscaler),
  ofKind(RESOURCES.PodDisruptionBudget),
  { ...ofSecret, name: 'credentials', is: (object, app) => isSecret(object) && !isEnvironment(object, app) },
  { ...ofSecret, name: 'environment', is: isEnvironment },
];

const goal = { of: 'value', is: 'at most', limit: GOAL_MS } as const;

export const bench: Bench = {
  name: 'drift',
  what: `Children of ${DEPLOYMENTS} deployments with database, cache and two pods are deleted by hand, of each kind {n}, one after the other, after ${WARM_UP} that do not count: from before the deletion until a watch shows another one; where a deployment has several, each in turn. environment, credentials: Secrets may be watched by nobody; Kubernetes' garbage collector tells of them. The application's environment the hub hands out again, and the listener makes it; credentials of database and cache the operator makes, from their copies, and these from them.`,
  floor: null,
  n: DELETIONS,
  goalsFrom: DELETIONS,
  runs: 1,
  warmedUp: true,
  measures: CHILDREN.flatMap(({ name }) => [
    { name: `${name} p50`, unit: 'ms' },
    { name: `${name} p99`, unit: 'ms', goal },
  ]),
  start: (context) =>
    withWorld(context, 'drift', async ({ berth, apps }) => {
      const deletions = context.n ?? DELETIONS;
      const settled = apps.until(
        'the deployments to settle',
        () => apps.size === DEPLOYMENTS && apps.all().every((app) => isSettled(app) && hasAll(app)),
        patience(DEPLOYMENTS),
      );
      const names = Array.from({ length: DEPLOYMENTS }, (_, index) => `drift-${index}`);
      await eachOf(names, (name) => berth.create(bodyWithAll(name)));
      await settled;
      const inTurn = async (child: Child, count: number): Promise<number[]> => {
        const values: number[] = [];
        for (let index = 0; index < count; index += 1) {
          const app = apps.all()[index % DEPLOYMENTS];
          if (app === undefined) throw new Error('failed to find a deployment: one is gone');
          await untilBack(child.isNoticedLate ? [app] : apps.all(), child);
          values.push(await untilAnother(berth, apps, app, child));
        }
        await untilBack(apps.all(), child);
        return values;
      };
      for (const child of CHILDREN) await inTurn(child, WARM_UP);
      const ours = async (): Promise<Sample> => {
        const sample: Record<string, number> = {};
        for (const child of CHILDREN) {
          context.log(`${deletions} times: ${child.name}`);
          Object.assign(sample, percentiles(await inTurn(child, deletions), `${child.name} `));
        }
        return sample;
      };
      return { ours };
    }),
};

const findAll = (app: SeenApp, child: Child) =>
  [...app.objects.values()].filter((object) => child.is(object, app));

const isBack = (app: SeenApp, child: Child) => {
  const objects = findAll(app, child);
  return objects.length > 0 && objects.every((object) => child.isBack(app, object));
};

/** Every child is there, and would be noticed if it went. Watches of kinds do not wait for each other. */
const hasAll = (app: SeenApp) => CHILDREN.every((child) => isBack(app, child));

const untilBack = (apps: readonly SeenApp[], child: Child) =>
  waitFor(`the ${child.name} to be noticed again`, async () => apps.every((app) => isBack(app, child)), {
    timeoutMs: patience(DEPLOYMENTS),
    intervalMs: LOOK_MS,
  });

/** Deletes a child: the one that was last made longest ago. @returns how long it takes until another one is there, in ms */
async function untilAnother(
  { admin }: ClusterBerth,
  apps: Apps,
  app: SeenApp,
  child: Child,
): Promise<number> {
  const [before] = findAll(app, child);
  if (before === undefined) throw new Error(`failed to find a child to delete: no ${child.name} is left`);
  const { namespace, name, uid } = before.metadata;
  const isAnother = (object: UntypedObject) =>
    object.kind === child.resource.kind && object.metadata.name === name && object.metadata.uid !== uid;
  const again = apps.until(`the ${child.name} to be there again`, (_app, object) => isAnother(object));
  const began = performance.now();
  await admin.delete(child.resource, { ...(namespace && { namespace }), name });
  return (await again) - began;
}

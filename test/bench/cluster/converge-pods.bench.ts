import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { CONNECTIONS } from '../api/measure.ts';
import type { Bench, Sample } from '../bench.ts';
import type { Load } from '../load/load.ts';
import { Apps, isAvailable } from './apps.ts';
import { ASKED } from './asked.ts';
import { type BenchRole, type ClusterBerth, ROLES } from './berth.ts';
import { MACHINE_COSTS, measured, ROLE_COSTS } from './costs.ts';
import { fill, patience, postAll, progressOf } from './fill.ts';
import { nameLike, plainObjects, renamed } from './playing.ts';
import { type Recording, whenAsked } from './recording.ts';
import { body } from './samples.ts';
import { besideNothing, inOwnWorld, recordingOf, WARM } from './sides.ts';

const DEPLOYMENTS = 10;
const MS = 1000;
/** Seldom enough to be no work beside that of thousands. */
const LOOK_MS = 250;
const WORKLOADS = [RESOURCES.Deployment, RESOURCES.StatefulSet];
const ACTIVE =
  'SELECT count(*)::int AS active FROM deployments WHERE active_revision_id = latest_revision_id';

/** Both sides run as many pods of the same templates: the cluster's own part is in both. */
export const bench: Bench = {
  name: 'converge-pods',
  what: `From the first POST of {n} over ${CONNECTIONS} connections, with one pod of each component, database and cache, until active_revision_id of every one is set. Each round in a new Kubernetes, after ${WARM} that do not count.`,
  floor:
    'kubectl apply --server-side of one file with the objects that such a deployment has, but the custom resource, until every Deployment and StatefulSet has its pod available (a watch).',
  n: DEPLOYMENTS,
  goalsFrom: 1000,
  runs: 1,
  fresh: true,
  measures: [
    { name: 'time', unit: 's', goal: { of: 'ratio', is: 'at most', limit: 1.1 } },
    { name: 'rate', unit: 'deployments/s' },
    ...ROLE_COSTS,
    ...ASKED,
    ...MACHINE_COSTS,
  ],
  start: async (context) => {
    const recorded = whenAsked(() => recordingOf(context, 'pods', (name) => body(name, 1)));
    const count = context.n ?? DEPLOYMENTS;
    let note = '';
    /** Absent: no floor was run. */
    let applied: string | undefined;
    const sampled = async (
      berth: ClusterBerth,
      roles: readonly BenchRole[],
      round: () => Promise<void>,
    ): Promise<Sample> => {
      const { result: time, costs } = await measured(berth, count, roles, async () => {
        const began = performance.now();
        await round();
        return (performance.now() - began) / MS;
      });
      return { time, rate: count / time, ...costs };
    };
    const ours = () =>
      inOwnWorld(context, 'pods', async ({ berth, apps, load }): Promise<Sample> => {
        note = berth.note;
        await fill(berth, apps, load, { count: WARM, pods: 1, prefix: 'warm-', objects: 1 });
        // The database tells the end. Watches of the bench would be work for Kubernetes, of which the floor has less.
        await apps.stop();
        return sampled(berth, ROLES, () => converge(berth, load, count, context.log));
      });
    const floor = async () => {
      const recording = await recorded();
      const objects = plainObjects(recording);
      const pods = objects.filter(({ kind }) => WORKLOADS.some((each) => each.kind === kind)).length;
      applied = `${objects.length} objects and ${pods} pods each`;
      return besideNothing(context, 'floor', async (berth): Promise<Sample> => {
        const prepare = (prefix: string, some: number) =>
          plainApply(berth, { objects, recording, prefix, log: context.log }, some);
        {
          await using warm = await prepare('warm', WARM);
          await warm.run();
        }
        await using apply = await prepare('floor', count);
        return await sampled(berth, [], apply.run);
      });
    };
    return {
      ours,
      floor,
      notes: () => [
        applied === undefined
          ? `${count} deployments a round.`
          : `${count} deployments a round, ${applied}, the custom resource not counted. kubectl has its own defaults: it sends one object after the other.`,
        note,
      ],
    };
  },
};

/** Creates so many beside those that are there, and waits until the revision of every one is active. */
async function converge(
  berth: ClusterBerth,
  load: Load,
  count: number,
  log: (line: string) => void,
): Promise<void> {
  const deadline = Date.now() + patience(count);
  const tell = progressOf(count, log);
  await postAll(berth, load, { count, pods: 1, prefix: 'round-' });
  for (;;) {
    const active = ((await berth.sql<{ active: number }>(ACTIVE))[0]?.active ?? 0) - WARM;
    tell(active);
    if (active === count) return;
    if (Date.now() > deadline)
      throw new Error(`failed to converge: of ${count} revisions ${active} are active`);
    await sleep(LOOK_MS);
  }
}

interface PlainApply extends AsyncDisposable {
  run(): Promise<void>;
}

/**
 * `kubectl apply --server-side` of one file, until each Deployment and StatefulSet of it has its pod available. The file is
 * written and the watches have begun before it runs: making them is no part of what kubectl takes.
 */
async function plainApply(
  { namespace, stateDir, admin, access }: ClusterBerth,
  {
    objects,
    recording,
    prefix,
    log,
  }: {
    objects: readonly KubeObject[];
    recording: Recording;
    prefix: string;
    log: (line: string) => void;
  },
  count: number,
): Promise<PlainApply> {
  const file = join(stateDir, `${prefix}.yaml`);
  const items = Array.from({ length: count }, (_, index) =>
    renamed(objects, recording, { name: nameLike(recording, prefix, index), namespace }),
  ).flat();
  writeFileSync(file, items.map((item) => `---\n${JSON.stringify(item)}\n`).join(''), { mode: 0o600 });
  const awaited = new Set(
    items
      .filter(({ kind }) => WORKLOADS.some((each) => each.kind === kind))
      .map(({ kind, metadata }) => `${kind}/${metadata.name}`),
  );
  const perDeployment = awaited.size / count;
  const tell = progressOf(count, log);
  const watched = await Apps.start(admin, namespace, WORKLOADS);
  return {
    run: async () => {
      const done = watched.until(
        'the pods of the floor',
        (_app, object) => {
          if (isAvailable(object)) awaited.delete(`${object.kind}/${object.metadata.name}`);
          tell(count - Math.ceil(awaited.size / perDeployment));
          return awaited.size === 0;
        },
        patience(count),
      );
      await Promise.all([
        done,
        kubectl(access, ['apply', '--server-side', `--namespace=${namespace}`, '-f', file]),
      ]);
    },
    [Symbol.asyncDispose]: () => watched.stop(),
  };
}

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RESOURCES } from '../../../src/kube/resources.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { makeNamespace, removeNamespace } from '../../integration/harness/namespaces.ts';
import { PATH } from '../api/bodies.ts';
import { CONNECTIONS } from '../api/measure.ts';
import type { Bench, Sample } from '../bench.ts';
import { Apps, isAvailable } from './apps.ts';
import { clear, patience } from './fill.ts';
import { untilGone } from './namespace-end.ts';
import { nameLike, plainObjects, renamed } from './recording.ts';
import { template } from './samples.ts';
import { withRecording } from './sides.ts';

const DEPLOYMENTS = 10;
const MS = 1000;
const LOOK_MS = 50;
const WORKLOADS = [RESOURCES.Deployment, RESOURCES.StatefulSet];
const ACTIVE =
  'SELECT count(*)::int AS active FROM deployments WHERE active_revision_id = latest_revision_id';

/** Both sides run as many pods of the same templates: the cluster's own part is in both. */
export const bench: Bench = {
  name: 'converge-pods',
  what: `From the first POST of ${DEPLOYMENTS} (--n: as many) over ${CONNECTIONS} connections, with one pod of each component, database and cache, until active_revision_id of every one is set.`,
  floor:
    'kubectl apply --server-side of one file with the objects that such a deployment has, but the custom resource, until every Deployment and StatefulSet has its pod available (a watch).',
  runs: 1,
  measures: [
    { name: 'time', unit: 's', goal: { of: 'ratio', is: 'at most', limit: 1.1 } },
    { name: 'rate', unit: 'deployments/s' },
  ],
  start: (context) =>
    withRecording(context, 'pods', 1, async ({ berth, apps, load }, recording) => {
      const count = context.n ?? DEPLOYMENTS;
      const objects = plainObjects(recording);
      const workloads = objects.filter(({ kind }) => WORKLOADS.some((each) => each.kind === kind)).length;
      let rounds = 0;
      const sample = (began: number): Sample => {
        const time = (performance.now() - began) / MS;
        return { time, rate: count / time };
      };
      const ours = async (): Promise<Sample> => {
        rounds += 1;
        const job = { url: berth.apiUrl(), method: 'POST', paths: [PATH], expected: 201 } as const;
        const deadline = Date.now() + patience(count);
        const began = performance.now();
        await load.run({
          ...job,
          headers: { 'x-api-key': berth.apiKey },
          body: template(1),
          namePrefix: `round-${rounds}-`,
          requests: count,
          connections: Math.min(CONNECTIONS, count),
        });
        while ((await berth.sql<{ active: number }>(ACTIVE))[0]?.active !== count) {
          if (Date.now() > deadline) throw new Error('failed to converge: not every revision is active');
          await sleep(LOOK_MS);
        }
        const result = sample(began);
        await clear(berth, apps);
        return result;
      };
      const floor = async (): Promise<Sample> => {
        rounds += 1;
        const namespace = await makeNamespace(berth.access, 'bench-floor');
        const file = join(berth.stateDir, 'floor.yaml');
        const items = Array.from({ length: count }, (_, index) =>
          renamed(objects, recording, { name: nameLike(recording, `floor-${rounds}`, index), namespace }),
        ).flat();
        writeFileSync(file, items.map((item) => `---\n${JSON.stringify(item)}\n`).join(''), { mode: 0o600 });
        const watched = await Apps.start(berth.admin, namespace, WORKLOADS);
        try {
          const available = new Set<string>();
          const began = performance.now();
          const done = watched.until(
            'the pods of the floor',
            (_app, object) => {
              if (isAvailable(object)) available.add(`${object.kind}/${object.metadata.name}`);
              return available.size === count * workloads;
            },
            patience(count),
          );
          await Promise.all([
            done,
            kubectl(berth.access, ['apply', '--server-side', `--namespace=${namespace}`, '-f', file]),
          ]);
          return sample(began);
        } finally {
          await watched.stop();
          await removeNamespace(berth.access, namespace);
          await untilGone(berth, namespace, count);
        }
      };
      return {
        ours,
        floor,
        notes: () => [
          `${count} deployments a round, ${objects.length} objects and ${workloads} pods each, the custom resource not counted. kubectl has its own defaults: it sends one object after the other.`,
          berth.note,
        ],
      };
    }),
};

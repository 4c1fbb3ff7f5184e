/** What is wrong with pods of the active revision outside of a rollout: reason, remedy, history, warning, and recovery. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKubeClient, type KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { isKubeError } from '../../../src/cluster/kube/client/errors.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import type { ObservedPod } from '../../../src/cluster/operator/observed.ts';
import { isReadyPod } from '../../../src/cluster/operator/pods/pod-trouble.ts';
import { deletePodAtOnce } from '../../cluster/delete-pod.ts';
import { waitFor } from '../../cluster/wait.ts';
import {
  type DeploymentAnswer,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../harness/berth.ts';
import { createNamespace, deleteNamespace, environment, kubectlAsAdmin } from '../harness/environment.ts';

const WAIT = { timeoutMs: 90_000, intervalMs: 300 };

let berth: WholeBerth;
let admin: KubeClient;
let narrow: string;
beforeAll(async () => {
  narrow = await createNamespace('narrow');
  berth = await startWholeBerth('symptoms', { moreNamespaces: [narrow] });
  const { kubeconfigPath } = environment();
  admin = await createKubeClient({ kubeconfigPath, userAgent: 'berth-test', requestTimeoutMs: 30_000 });
});
afterAll(async () => {
  await admin?.close();
  await berth?.stop();
  await deleteNamespace(narrow);
});

interface Row {
  reason: string;
  message: string;
  revision_id: string | null;
  details: {
    component?: string;
    failure_source?: { object?: string; container?: string; exit_code?: number };
  };
}
interface Explained {
  serves: string;
  summary: string;
  causes: { reason: string; level: string; object: { object?: string; container?: string } | null }[];
  remedy: { kind: string; reason: string; text: string } | null;
}

const appOf = ({ id, name }: DeploymentAnswer) => `${name}-${id.replaceAll('-', '').slice(-8)}`;
const says = (now: DeploymentAnswer, type: string) => {
  const found = now.conditions.find((condition) => condition.type === type);
  return `${found?.status} ${found?.reason}`;
};
const converged = (id: string) =>
  berth.until(id, 'Ready again', (now) => says(now, 'Ready') === 'True Converged');
const readyMessage = (now: DeploymentAnswer) =>
  now.conditions.find(({ type }) => type === 'Ready')?.message ?? '';

/** Rows of the history about running pods, the oldest first. */
async function rows(id: string): Promise<Row[]> {
  const { body } = await berth.call<{ resources: Row[] }>('GET', `/v2/deployments/${id}/events?limit=100`);
  return body.resources.filter(({ message }) => message.startsWith('Running pods ')).reverse();
}
const reasonsOf = async (id: string) => (await rows(id)).map(({ reason }) => reason);

async function explained({ id, latest_revision_id }: DeploymentAnswer): Promise<Explained> {
  const url = `/v2/deployments/${id}/revisions/${latest_revision_id}/explain`;
  return (await berth.call<Explained>('GET', url)).body;
}

/** Kubernetes Events about the custom resource: reason and how often it was counted. */
async function warnings(app: string, namespace = berth.namespace): Promise<Map<string, number>> {
  const about = `involvedObject.kind=ManagedDeployment,involvedObject.name=${app}`;
  const { items } = await admin.list<UntypedObject>(RESOURCES.Event, { namespace, fieldSelector: about });
  const reported = items as unknown as { type: string; reason: string; count?: number }[];
  const counts = new Map<string, number>();
  for (const { type, reason, count = 1 } of reported)
    if (type === 'Warning') counts.set(reason, (counts.get(reason) ?? 0) + count);
  return counts;
}

async function podsOf(app: string, namespace = berth.namespace): Promise<UntypedObject[]> {
  const labelSelector = `app.kubernetes.io/instance=${app},app.kubernetes.io/component=api`;
  const { items } = await admin.list<UntypedObject>(RESOURCES.Pod, { namespace, labelSelector });
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}
const isReady = (pod: UntypedObject) => isReadyPod(pod as unknown as ObservedPod);
const isMarked = ({ metadata }: UntypedObject) => metadata.labels?.['sim.example/fail'] !== undefined;
const ignoreGone = (error: unknown) => {
  if (!isKubeError(error, 'not_found')) throw error;
};
const deletePod = ({ metadata: { name, namespace = '' } }: UntypedObject) =>
  deletePodAtOnce(admin, { namespace, name }).catch(ignoreGone);
const scale = (app: string, count: number, namespace = berth.namespace) =>
  kubectlAsAdmin(['-n', namespace, 'scale', 'deploy', `${app}-api`, `--replicas=${count}`]);

/** Labels pods so that their image cannot be pulled. One that became ready before that is deleted: another follows. */
async function breakNewPods(app: string, good: ReadonlySet<string>, count: number): Promise<void> {
  await waitFor(
    `${count} pods that cannot be pulled`,
    async () => {
      const pods = (await podsOf(app)).filter(({ metadata }) => !good.has(metadata.uid ?? ''));
      for (const pod of pods) {
        const at = { namespace: berth.namespace, name: pod.metadata.name };
        if (isReady(pod)) await deletePod(pod);
        else if (!isMarked(pod))
          await admin
            .patch(RESOURCES.Pod, at, { metadata: { labels: { 'sim.example/fail': 'image-pull' } } })
            .catch(ignoreGone);
      }
      return pods.filter((pod) => isMarked(pod) && !isReady(pod)).length === count;
    },
    { timeoutMs: 90_000, intervalMs: 20 },
  );
}

const upToFive = (name: string, more: object = {}) =>
  smallDeployment(name, { source_config: { resource_spec: { min_scale: 1, max_scale: 5 }, ...more } });

describe.concurrent('the operator outside of a rollout', () => {
  test('reports new pods whose image cannot be pulled, then that no pod is ready, then the recovery', async () => {
    const made = await berth.create(upToFive('pulls'));
    const ready = await berth.ready(made.id);
    const app = appOf(made);
    const good = new Set((await podsOf(app)).map(({ metadata }) => metadata.uid ?? ''));
    await scale(app, 3);
    await breakNewPods(app, good, 2);
    const reported = await berth.until(
      made.id,
      'the reason named',
      (now) => says(now, 'Ready') === 'False ImagePullFailed',
    );
    expect([says(reported, 'Serving'), reported.status]).toEqual(['True Available', 'READY']);
    expect(readyMessage(reported)).toMatch(/^api: pod .*, container app: ImagePullBackOff/);
    expect(reported.active_revision_id).toBe(ready.active_revision_id);
    const why = await explained(made);
    expect(why).toMatchObject({ serves: 'yes', remedy: { kind: 'act', reason: 'ImagePullFailed' } });
    expect(why.remedy?.text).toContain('image_pull_secrets');
    expect(why.remedy?.text).not.toMatch(/redeploy|ask the administrator of the platform/);
    expect(why.causes.at(-1)).toMatchObject({ level: 'object', object: { container: 'app' } });
    const [row] = await rows(made.id);
    expect(row).toMatchObject({ reason: 'ImagePullFailed', details: { component: 'api' } });

    for (const pod of (await podsOf(app)).filter(isReady)) await deletePod(pod);
    await breakNewPods(app, new Set(), 3);
    const down = await berth.until(
      made.id,
      'nothing that serves',
      (now) => says(now, 'Serving') === 'False Unavailable' && says(now, 'Ready') === 'False ImagePullFailed',
    );
    expect([down.status, down.active_revision_id]).toEqual(['READY', ready.active_revision_id]);
    expect((await explained(made)).serves).toBe('no');
    expect(await reasonsOf(made.id)).toEqual(['ImagePullFailed']);

    for (const pod of await podsOf(app)) await deletePod(pod);
    const back = await converged(made.id);
    expect([says(back, 'Ready'), says(back, 'Serving')]).toEqual(['True Converged', 'True Available']);
    expect(JSON.stringify(back.conditions)).not.toContain('ImagePull');
    expect((await explained(made)).remedy).toBeNull();
    await waitFor('the recovery', async () => (await reasonsOf(made.id)).at(-1) === 'Recovered', WAIT);
    expect(await reasonsOf(made.id)).toEqual(['ImagePullFailed', 'Recovered']);
    await waitFor('the warning', async () => (await warnings(app)).get('ImagePullFailed') === 1, WAIT);
  }, 300_000);

  test('reports a pod that crashes repeatedly once, with one warning, and its recovery', async () => {
    const made = await berth.create(upToFive('loops'));
    const ready = await berth.ready(made.id);
    const app = appOf(made);
    await scale(app, 2);
    await waitFor('two pods', async () => (await podsOf(app)).filter(isReady).length === 2, WAIT);
    await converged(made.id);
    const [pod] = await podsOf(app);
    const name = pod?.metadata.name ?? '';
    await kubectlAsAdmin(['-n', berth.namespace, 'label', 'pod', name, 'sim.example/fail=crash-loop']);
    const restarts = async () =>
      Number(
        await kubectlAsAdmin([
          '-n',
          berth.namespace,
          'get',
          'pod',
          name,
          '-o=jsonpath={.status.containerStatuses[0].restartCount}',
        ]),
      );
    await waitFor('five restarts', async () => (await restarts()) === 5, WAIT);
    const reported = await berth.until(
      made.id,
      'the loop named',
      (now) => says(now, 'Ready') === 'False CrashLoop',
    );
    expect(says(reported, 'Serving')).toBe('True Available');
    expect(reported.active_revision_id).toBe(ready.active_revision_id);
    const why = await explained(made);
    expect(why.remedy).toMatchObject({ kind: 'act', reason: 'CrashLoop' });
    expect(why.causes.at(-1)?.object).toMatchObject({ object: name, container: 'app', exit_code: 1 });
    expect(await rows(made.id)).toMatchObject([
      { reason: 'CrashLoop', details: { failure_source: { object: name, exit_code: 1 } } },
    ]);
    await waitFor('the warning', async () => (await warnings(app)).get('CrashLoop') === 1, WAIT);
    if (pod !== undefined) await deletePod(pod);
    await converged(made.id);
    await waitFor('the recovery', async () => (await reasonsOf(made.id)).at(-1) === 'Recovered', WAIT);
    expect(await reasonsOf(made.id)).toEqual(['CrashLoop', 'Recovered']);
    expect((await warnings(app)).get('CrashLoop')).toBe(1);
  }, 300_000);

  test('reports a quota that allows only a part of a scale-up', async () => {
    const made = await berth.create(upToFive('counted', { listener_config: { cluster_namespace: narrow } }));
    await berth.ready(made.id);
    const app = appOf(made);
    await kubectlAsAdmin(['-n', narrow, 'create', 'quota', 'four', '--hard=pods=4']);
    const counted = () =>
      kubectlAsAdmin(['-n', narrow, 'get', 'quota', 'four', '-o=jsonpath={.status.used.pods}']);
    await waitFor('the quota to count', async () => (await counted()) === '3', WAIT);
    await scale(app, 4, narrow);
    const reported = await berth.until(
      made.id,
      'held up',
      (now) => says(now, 'Ready') === 'False QuotaExceeded',
    );
    expect(readyMessage(reported)).toContain('exceeded quota: four');
    expect(says(reported, 'Serving')).toBe('True Available');
    expect((await explained(made)).remedy).toMatchObject({ kind: 'act', reason: 'QuotaExceeded' });
    expect(await reasonsOf(made.id)).toEqual(['QuotaExceeded']);
    await waitFor('the warning', async () => (await warnings(app, narrow)).has('QuotaExceeded'), WAIT);
    await scale(app, 2, narrow);
    await converged(made.id);
    await waitFor('the recovery', async () => (await reasonsOf(made.id)).at(-1) === 'Recovered', WAIT);
    expect(await reasonsOf(made.id)).toEqual(['QuotaExceeded', 'Recovered']);
  }, 300_000);
});

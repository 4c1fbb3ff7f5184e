/** The status of a deployment is lost while its release command runs, or after it: the command does not run again. */

import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { MANAGED_DEPLOYMENT } from '../../../src/contract/resource/definition.ts';
import type { ManagedDeployment } from '../../../src/contract/resource/managed-deployment.ts';
import { ANNOTATIONS } from '../../../src/contract/resource/names.ts';
import { APP_CONTAINER_NAME } from '../../../src/domain/deployment/reserved.ts';
import { waitFor } from '../../cluster/wait.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { FaultWorld } from '../world.ts';
import { broken, change, imageOf, live, type RunningDeployment, runningDeployment } from './steps.ts';

const WAIT = { timeoutMs: 60_000, intervalMs: 100 };
const JOB_NAME = 'batch.kubernetes.io/job-name';
/** The simulated node never ends this command (test/cluster/stages/README.md). */
const ENDLESS = ['sleep'];

const recordedJob = async (world: FaultWorld, app: string): Promise<string | undefined> =>
  ((await live(world, RESOURCES.ManagedDeployment, app)) as unknown as ManagedDeployment).status?.release
    ?.jobUid;

/** The pod of the release when its command runs. */
const runningPod = (world: FaultWorld, job: string): Promise<UntypedObject> =>
  waitFor(
    `a pod of ${job} to run`,
    async () => {
      const labelSelector = `${JOB_NAME}=${job}`;
      const { items } = await world.admin.list<UntypedObject>(RESOURCES.Pod, {
        namespace: world.namespace,
        labelSelector,
      });
      return items.find(({ status }) => (status as { phase?: string } | undefined)?.phase === 'Running');
    },
    WAIT,
  );

const patchStatus = (world: FaultWorld, kind: string, name: string, status: object | null) =>
  world.kubectl(
    'patch',
    kind,
    name,
    '--subresource=status',
    '--type=merge',
    '--patch',
    JSON.stringify({ status }),
  );

/** Ends the command of the pod with exit code 0, as a kubelet does. */
async function succeed(world: FaultWorld, { metadata: { name } }: UntypedObject): Promise<void> {
  const at = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const terminated = { exitCode: 0, reason: 'Completed', startedAt: at, finishedAt: at };
  const container = { name: APP_CONTAINER_NAME, image: 'x', imageID: 'x', restartCount: 0 };
  await patchStatus(world, 'pod', name, {
    phase: 'Succeeded',
    containerStatuses: [{ ...container, ready: false, started: false, state: { terminated } }],
  });
}

const loseStatus = (world: FaultWorld, app: string) =>
  patchStatus(world, `${MANAGED_DEPLOYMENT.plural}.${MANAGED_DEPLOYMENT.group}`, app, null);

/** A plan in which the release command of revision 2 runs. O9 counts its starts. */
const lostStatusPlan = (
  name: string,
  says: string,
  lose: (world: FaultWorld, deployment: RunningDeployment, pod: UntypedObject) => Promise<void>,
): FaultPlan => ({
  name: `kubectl/release/${name}`,
  says,
  removesStatus: true,
  run: async (world): Promise<Violation[]> => {
    const deployment = await runningDeployment(world);
    const { id, app } = deployment;
    const source_revision_config = { image_uri: imageOf('2.0.0'), release_command: ENDLESS };
    await change(world, id, { source_revision_config });
    const pod = await runningPod(world, `${app}-2-release`);
    const job = await recordedJob(world, app);
    await lose(world, deployment, pod);
    await world.ready(id);
    const now = await recordedJob(world, app);
    return now === job ? [] : [broken(`the recorded Job was ${job}, and is ${now}`)];
  },
});

export const releaseStatusPlans: FaultPlan[] = [
  lostStatusPlan(
    'status-lost',
    'The status of a deployment is removed while its release command runs: the same Job is recorded again, and its result is used.',
    async (world, { app }, pod) => {
      await loseStatus(world, app);
      await waitFor(
        'the Job to be recorded again',
        async () => (await recordedJob(world, app)) !== undefined,
        WAIT,
      );
      await succeed(world, pod);
    },
  ),
  lostStatusPlan(
    'status-lost-after-end',
    'A release command ends while no operator runs, and the status of its deployment is removed: the next operator uses its result.',
    async (world, { app }, pod) => {
      await world.kill('operator');
      await succeed(world, pod);
      await loseStatus(world, app);
      await world.restart('operator');
    },
  ),
  lostStatusPlan(
    'status-lost-while-paused',
    'A release command succeeds while the operator is paused for its deployment, and the status is removed: after the pause, the result is used.',
    async (world, { app }, pod) => {
      const kind = `${MANAGED_DEPLOYMENT.plural}.${MANAGED_DEPLOYMENT.group}`;
      await world.kubectl('annotate', kind, app, `${ANNOTATIONS.paused}=true`);
      await succeed(world, pod);
      await waitFor(
        'the task to succeed',
        async () => {
          const { status } = await live(world, RESOURCES.DeploymentTask, `${app}-2-release`);
          return (status as { state?: string } | undefined)?.state === 'SUCCEEDED';
        },
        WAIT,
      );
      await loseStatus(world, app);
      await world.kubectl('annotate', kind, app, `${ANNOTATIONS.paused}-`);
    },
  ),
];

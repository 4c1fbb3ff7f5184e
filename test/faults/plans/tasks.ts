/** Release commands and tasks whose Jobs, pods and processes are lost: each command starts at most once. */
import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { DEPLOYMENT_TASK } from '../../../src/contract/resource/definition.ts';
import { waitFor } from '../../cluster/wait.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import { callUntilSuccess } from '../retrying-client.ts';
import type { FaultWorld } from '../world.ts';
import { Checks, change, imageOf, isUpToDate, type RunningDeployment, runningDeployment } from './steps.ts';

const ENDED_MS = 90_000;
const SYNC_MS = 30_000;
const JOB_NAME = 'batch.kubernetes.io/job-name';
/** A command that runs until its pod is deleted (test/cluster/stages/README.md). */
const ENDLESS = ['sleep'];
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const withRelease = (tag: string, command: readonly string[]) => ({
  source_revision_config: { image_uri: imageOf(tag), release_command: command },
});

const inTime = <T>(what: string, check: () => Promise<T | undefined>): Promise<T> =>
  waitFor(what, check, { timeoutMs: ENDED_MS, intervalMs: 100 });

const losePod = (world: FaultWorld, job: string) =>
  world.kubectl('delete', 'pod', `--selector=${JOB_NAME}=${job}`, '--force', '--grace-period=0');

/** The pods of Jobs, from a watch that misses none. Each of them has started its command once, or will. */
class CommandPods {
  readonly #reflector: Reflector<UntypedObject>;
  readonly #uids = new Map<string, Set<string>>();
  readonly #running = new Set<string>();

  constructor({ admin: client, namespace }: FaultWorld) {
    this.#reflector = new Reflector({ client, resource: RESOURCES.Pod, namespace, logger: silent });
    const seen = (pod: UntypedObject) => this.#add(pod);
    this.#reflector.addHandlers({ added: seen, updated: seen, deleted: seen });
  }

  async start(): Promise<void> {
    this.#reflector.start();
    await this.#reflector.waitForSync(AbortSignal.timeout(SYNC_MS));
  }

  #add({ metadata: { labels, uid = '' }, ...rest }: UntypedObject): void {
    const job = labels?.[JOB_NAME];
    if (job === undefined) return;
    this.#uids.set(job, (this.#uids.get(job) ?? new Set()).add(uid));
    if ((rest['status'] as { phase?: string } | undefined)?.phase === 'Running') this.#running.add(job);
  }

  /** Number of pods that the Jobs of this name have had. */
  of = (job: string): number => this.#uids.get(job)?.size ?? 0;

  untilRunning = (job: string) =>
    inTime(`a pod of ${job} to run`, async () => (this.#running.has(job) ? true : undefined));

  stop = () => this.#reflector.stop();
}

interface Revisions {
  resources: { number: number; status: string; reason: string | null }[];
}

/** Waits until a revision has a status. @returns its reason */
const untilRevision = (world: FaultWorld, id: string, number: number, status: string): Promise<string> =>
  inTime(`revision ${number} to be ${status}`, async () => {
    const { body } = await world.call<Revisions>('GET', `/v2/deployments/${id}/revisions`);
    const found = body.resources.find((revision) => revision.number === number);
    return found?.status === status ? (found.reason ?? '(none)') : undefined;
  });

interface Situation extends RunningDeployment {
  readonly world: FaultWorld;
  readonly pods: CommandPods;
  readonly checks: Checks;
}

/** A plan with a running deployment. */
const taskPlan = (name: string, says: string, run: (situation: Situation) => Promise<void>): FaultPlan => ({
  name: `tasks/${name}`,
  says,
  run: async (world): Promise<Violation[]> => {
    const checks = new Checks();
    const pods = new CommandPods(world);
    try {
      await pods.start();
      const deployment = await runningDeployment(world);
      await run({ ...deployment, world, pods, checks });
    } finally {
      await pods.stop();
    }
    return checks.violations;
  },
});

/** Checks that the command of a Job has started once. */
const startedOnce = ({ checks, pods }: Situation, job: string) =>
  checks.that(pods.of(job) === 1, `the command of ${job} started ${pods.of(job)} times`);

/** The revision has failed with this reason, its command has started once, and the next revision runs its own command. */
async function failedOnce(situation: Situation, reason: string): Promise<void> {
  const { world, id, app, checks } = situation;
  const found = await untilRevision(world, id, 2, 'DEPLOY_FAILED');
  checks.that(found === reason, `revision 2 failed with ${found}, not with ${reason}`);
  await change(world, id, withRelease('3.0.0', ['migrate']));
  await world.ready(id);
  startedOnce(situation, `${app}-2-release`);
  startedOnce(situation, `${app}-3-release`);
}

const released = (
  name: string,
  says: string,
  reason: string,
  disturb: (situation: Situation, job: string) => Promise<unknown>,
): FaultPlan =>
  taskPlan(name, says, async (situation) => {
    const { world, id, app, pods } = situation;
    const job = `${app}-2-release`;
    await change(world, id, withRelease('2.0.0', ENDLESS));
    await pods.untilRunning(job);
    await disturb(situation, job);
    await failedOnce(situation, reason);
  });

const jobDeleted = released(
  'release/job-deleted',
  'The Job of a release command that runs is deleted with kubectl: the revision fails, and the command does not start again.',
  'ReleaseLost',
  ({ world }, job) => world.kubectl('delete', 'job', job, '--cascade=foreground'),
);

const taskDeleted = released(
  'release/task-deleted',
  'The task of a release command that runs is deleted with kubectl: the revision fails, and the command does not start again.',
  'ReleaseLost',
  ({ world }, job) => world.kubectl('delete', 'deploymenttask', job),
);

const nodeLost = released(
  'release/node-lost',
  'The node of a release command that runs is lost, and Kubernetes removes its pod: the revision fails, and the command does not start again.',
  'ReleaseFailed',
  ({ world }, job) => losePod(world, job),
);

const operatorKilled = released(
  'release/operator-killed',
  'The operator is killed while a release command runs, and the Job is deleted meanwhile: the next operator does not start the command again.',
  'ReleaseLost',
  async ({ world }, job) => {
    await world.kill('operator');
    await world.kubectl('delete', 'job', job, '--cascade=foreground');
    await world.restart('operator');
  },
);

const racing = taskPlan(
  'release/racing',
  'A newer revision arrives while the release command of the earlier one runs: it waits, each command starts once, and the newer revision becomes active.',
  async (situation) => {
    const { world, id, app, pods, checks } = situation;
    const [job, next] = [`${app}-2-release`, `${app}-3-release`];
    await change(world, id, withRelease('2.0.0', ENDLESS));
    await pods.untilRunning(job);
    await change(world, id, withRelease('3.0.0', ['migrate']));
    await inTime('revision 3 to wait', async () => {
      const { body } = await world.call('GET', `/v2/deployments/${id}`);
      const isWaiting = ({ message }: { message: string }) =>
        message.includes('the release command of revision 2 has not ended');
      return body.conditions.some(isWaiting) ? true : undefined;
    });
    checks.that(pods.of(next) === 0, 'the command of revision 3 started during that of revision 2');
    await losePod(world, job);
    await world.ready(id);
    startedOnce(situation, job);
    startedOnce(situation, next);
  },
);

const foreignTask = taskPlan(
  'release/foreign-task',
  'A task of another deployment has the expected name of a release, written by hand: the revision fails and no command starts. When the task is gone, the next revision runs its command.',
  async (situation) => {
    const { world, id, app, pods, checks } = situation;
    const job = `${app}-2-release`;
    const manifest = {
      apiVersion: DEPLOYMENT_TASK.apiVersion,
      kind: DEPLOYMENT_TASK.kind,
      metadata: { name: job, namespace: world.namespace },
      // The deployment does not exist, so the task itself starts nothing.
      spec: { deployment: 'another-app', command: ['migrate'] },
    };
    await world.admin.create(manifest);
    await change(world, id, withRelease('2.0.0', ['migrate']));
    const reason = await untilRevision(world, id, 2, 'DEPLOY_FAILED');
    checks.that(reason === 'ReleaseFailed', `revision 2 failed with ${reason}, not with ReleaseFailed`);
    checks.that(pods.of(job) === 0, `${pods.of(job)} pods of ${job} were created`);
    await world.kubectl('delete', 'deploymenttask', job);
    await change(world, id, withRelease('3.0.0', ['migrate']));
    await world.ready(id);
    startedOnce(situation, `${app}-3-release`);
  },
);

interface Task {
  id: string;
  name: string;
  state: string;
}

const FINAL = ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED'];

/** Starts a task of the API that does not end by itself, disturbs it, and checks that it has failed and started once. */
const disturbed = (
  name: string,
  says: string,
  disturb: (world: FaultWorld, job: string) => Promise<unknown>,
): FaultPlan =>
  taskPlan(name, says, async (situation) => {
    const { world, id, pods, checks } = situation;
    const path = `/v2/deployments/${id}/tasks`;
    const task = (await callUntilSuccess(world, 'POST', path, { command: ENDLESS })) as unknown as Task;
    await pods.untilRunning(task.name);
    await disturb(world, task.name);
    const state = await inTime(`the end of ${task.name}`, async () => {
      const { body } = await world.call<Task>('GET', `${path}/${task.id}`);
      return FINAL.includes(body.state) ? body.state : undefined;
    });
    checks.that(state === 'FAILED', `the task is ${state}, not FAILED`);
    startedOnce(situation, task.name);
    checks.that(await isUpToDate(world, id), 'the deployment is not READY');
  });

const listenerLost = disturbed(
  'task/listener-lost',
  'The listener is killed while a task of the API runs, and its pod is lost meanwhile: the next listener reports its end, and the command has started once.',
  async (world, job) => {
    await world.kill('listener');
    await losePod(world, job);
    await world.restart('listener');
  },
);

const taskJobDeleted = disturbed(
  'task/job-deleted',
  'The Job of a task of the API is deleted with kubectl while it runs: the task fails, and the command does not start again.',
  (world, job) => world.kubectl('delete', 'job', job, '--cascade=foreground'),
);

export const taskPlans: readonly FaultPlan[] = [
  jobDeleted,
  taskDeleted,
  nodeLost,
  operatorKilled,
  racing,
  foreignTask,
  listenerLost,
  taskJobDeleted,
];

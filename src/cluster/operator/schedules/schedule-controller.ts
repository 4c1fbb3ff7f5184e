import { ANNOTATIONS, FIELD_MANAGERS } from '../../../contract/resource/names.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import type { Policy } from '../../../domain/policy/policy.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError, KubeError } from '../../kube/client/errors.ts';
import { type KubeObject, keyOf } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { subsetDiff, withHash } from '../../kube/compare/compare.ts';
import type { ReconcileOutcome } from '../../kube/queue/controller.ts';
import type { ObservedResource } from '../observed.ts';
import { type Finding, shortened } from '../status/conditions.ts';
import { deploymentOf, type TaskView } from '../tasks/observe-task.ts';
import type { TaskJob } from '../tasks/observed-task.ts';
import type { TaskCaches } from '../tasks/task-caches.ts';
import { type CronJobAction, decideSchedules, type ScheduleProblem } from './decide-schedules.ts';
import { taskOfJob, unrecordedRuns, type WholeJob } from './record-run.ts';
import type { ScheduleCaches } from './schedule-caches.ts';
import { schedulesFinding } from './schedules-finding.ts';

export interface ScheduleControllerOptions {
  readonly client: Pick<KubeClient, 'apply' | 'create' | 'patch' | 'delete' | 'find'>;
  readonly caches: ScheduleCaches;
  /** Tasks and their Jobs. */
  readonly taskCaches: TaskCaches;
  /** Deployments and their stored templates. */
  readonly view: TaskView;
  readonly policy: Policy;
  readonly mayAct: () => boolean;
  readonly logger: Logger;
  /** Called when the finding of a deployment has changed. */
  readonly changed: (deploymentKey: string) => void;
}

type ApplyAction = Extract<CronJobAction, { kind: 'apply' }>;

/** Requeue delay while the caches do not show the last writes. The delay covers a lost event. */
const CATCH_UP_MS = 2_000;
/** Pause after a rejected CronJob. The cause may be temporary, such as a quota of the namespace. */
const REFUSED_PAUSE_MS = 60_000;
/** A resourceVersion that no object has: an apply with it creates the object, and is rejected if the object exists. */
const NO_VERSION = '1';

/** Reconciles the schedules of deployments: their CronJobs, and the tasks of their runs. All state is in the cluster. */
export class ScheduleController {
  readonly #options: ScheduleControllerOptions;
  readonly #findings = new Map<string, Finding>();
  /** Written CronJobs whose last writes the caches may not show, by deployment. */
  readonly #written = new Map<string, readonly string[]>();
  /** Generations of CronJobs that the cluster changes on each write, so that they are not written again. */
  readonly #stubborn = new Map<string, { readonly generation: number; readonly message: string }>();

  constructor(options: ScheduleControllerOptions) {
    this.#options = options;
  }

  /** The condition SchedulesHealthy; null: it is not known in this process. */
  findingOf(deploymentKey: string): Finding | null {
    return this.#findings.get(deploymentKey) ?? null;
  }

  /** Whether there is anything to do for a deployment. */
  concerns(deploymentKey: string): boolean {
    const { caches, view } = this.#options;
    const spec = view.resource(deploymentKey)?.['spec'] as { schedules?: object[] } | undefined;
    return (
      spec?.schedules !== undefined ||
      this.#findings.has(deploymentKey) ||
      caches.cronJobsOf(deploymentKey).length > 0
    );
  }

  /** Reconciles the schedules of the deployment with this key. */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileOutcome> {
    const { caches, taskCaches, view, policy } = this.#options;
    if (!caches.isCurrent(this.#written.get(key) ?? [])) return { kind: 'requeue', afterMs: CATCH_UP_MS };
    this.#written.delete(key);
    const deployment = deploymentOf(view, key);
    if (deployment === null) {
      this.#findings.delete(key);
      return { kind: 'settled' };
    }
    const runs = taskCaches.runsOf(key);
    await this.#record(deployment.resource, runs, signal);
    const input = { deployment, cronJobs: caches.cronJobsOf(key), runs };
    const { actions, problems } = decideSchedules(input, policy);
    const refused = await this.#act(key, actions, signal);
    const isDecided = deployment.active !== null || deployment.resource.spec.suspend || problems.length > 0;
    if (!deployment.isPaused && isDecided) this.#report(key, deployment.resource, [...problems, ...refused]);
    return refused.length === 0 ? { kind: 'settled' } : { kind: 'requeue', afterMs: REFUSED_PAUSE_MS };
  }

  /** Creates the tasks of new runs. */
  async #record(resource: ObservedResource, runs: readonly TaskJob[], signal: AbortSignal): Promise<void> {
    const { client, taskCaches, logger } = this.#options;
    if (resource.metadata.deletionTimestamp !== undefined) return;
    const tasks = taskCaches.tasksOf(keyOf(resource));
    for (const { metadata } of unrecordedRuns(runs, tasks)) {
      // The cached Job has no command.
      const job = await client.find<WholeJob>(RESOURCES.Job, metadata, { signal });
      if (job === undefined || job.metadata.uid !== metadata.uid) continue;
      const task = taskOfJob(resource, job);
      if (task === null) {
        logger.warn({ job: keyOf(job) }, 'failed to record a run: its Job was changed; next: none');
        continue;
      }
      this.#mayAct();
      try {
        taskCaches.noteTask(await client.create(task, { signal }));
        logger.info({ task: keyOf(task) }, 'recorded a run of a schedule');
      } catch (error) {
        // A task of a user can have this name. The run is then not in the history.
        if (!isKubeError(error, 'already_exists')) throw error;
      }
    }
  }

  /** @returns the schedules that the cluster rejects */
  async #act(
    key: string,
    actions: readonly CronJobAction[],
    signal: AbortSignal,
  ): Promise<ScheduleProblem[]> {
    const { client, caches, logger } = this.#options;
    const problems: ScheduleProblem[] = [];
    for (const action of actions) {
      this.#mayAct();
      if (action.kind === 'apply') {
        const problem = await this.#apply(key, action, signal);
        if (problem !== null) problems.push({ name: action.name, message: problem });
        continue;
      }
      const { metadata } = action.live;
      const { uid = '' } = metadata;
      try {
        if (action.kind === 'suspend') {
          // The uid is a precondition.
          const patch = { metadata: { uid }, spec: { suspend: true } };
          this.#note(key, await client.patch(RESOURCES.CronJob, metadata, patch, { signal }));
        } else {
          await client.delete(RESOURCES.CronJob, metadata, {
            uid,
            propagationPolicy: 'Background',
            signal,
          });
          caches.noteDelete(action.live);
        }
        logger.info({ cronJob: keyOf(action.live), action: action.kind }, 'changed a CronJob');
      } catch (error) {
        if (!isKubeError(error, 'not_found', 'conflict')) throw error;
      }
    }
    return problems;
  }

  /** @returns why the cluster rejects the CronJob; null: it does not */
  async #apply(
    key: string,
    { object, live, name }: ApplyAction,
    signal: AbortSignal,
  ): Promise<string | null> {
    const { client, logger } = this.#options;
    const body = withHash(object, ANNOTATIONS.appliedHash);
    const isSameHash =
      live?.metadata.annotations?.[ANNOTATIONS.appliedHash] ===
      body.metadata.annotations?.[ANNOTATIONS.appliedHash];
    const stubborn = this.#stubborn.get(live?.metadata.uid ?? '');
    if (stubborn !== undefined && isSameHash && stubborn.generation === live?.metadata.generation)
      return stubborn.message;
    const fence = live === undefined ? { resourceVersion: NO_VERSION } : { uid: live.metadata.uid };
    const fenced = { ...body, metadata: { ...body.metadata, ...fence } };
    try {
      const options = { fieldManager: FIELD_MANAGERS.operator, force: true, signal };
      const written = await client.apply<KubeObject>(fenced, options);
      this.#note(key, written);
      logger.info({ cronJob: keyOf(written), schedule: name }, 'applied a CronJob');
      return this.#changedByCluster(object, written);
    } catch (error) {
      if (live === undefined && isKubeError(error, 'conflict'))
        return `another CronJob has the name ${object.metadata.name}: delete it`;
      if (!(error instanceof KubeError) || !isKubeError(error, 'forbidden', 'invalid', 'bad_request'))
        throw error;
      return shortened(`the cluster rejected the CronJob: ${error.message}`);
    }
  }

  /** Fields that the cluster changes in the response to a write. A further write would change nothing. */
  #changedByCluster(object: KubeObject, written: KubeObject): string | null {
    const { uid = '', generation = 0 } = written.metadata;
    const paths = subsetDiff(object, written).map(({ path }) => path);
    if (paths.length === 0) {
      this.#stubborn.delete(uid);
      return null;
    }
    const message = `an admission policy or webhook of the cluster changes ${paths.slice(0, 3).join(', ')} of the CronJob`;
    this.#stubborn.set(uid, { generation, message });
    return message;
  }

  #note(key: string, written: KubeObject): void {
    this.#options.caches.noteWrite(written);
    this.#written.set(key, [...(this.#written.get(key) ?? []), keyOf(written)]);
  }

  #report(key: string, resource: ObservedResource, problems: readonly ScheduleProblem[]): void {
    const finding = schedulesFinding(resource, problems, this.#options.taskCaches.tasksOf(key));
    const before = this.#findings.get(key);
    if (finding === null) {
      this.#findings.delete(key);
      if (before !== undefined) this.#options.changed(key);
      return;
    }
    this.#findings.set(key, finding);
    if (JSON.stringify(before) !== JSON.stringify(finding)) this.#options.changed(key);
  }

  #mayAct(): void {
    if (!this.#options.mayAct())
      throw new Error('failed to act on a schedule: this operator is no longer the leader');
  }
}

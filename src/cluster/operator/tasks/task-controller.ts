import { DEPLOYMENT_TASK } from '../../../contract/resource/definition.ts';
import type { DeploymentTaskStatus } from '../../../contract/resource/deployment-task.ts';
import { canonicalJson } from '../../../domain/core/hash.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import type { Policy } from '../../../domain/policy/policy.ts';
import { ownerReference } from '../../../workloads/owner.ts';
import { taskJob } from '../../../workloads/tasks/task-job.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/client/clock.ts';
import { isKubeError, KubeError } from '../../kube/client/errors.ts';
import { keyOf, type UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { ReconcileOutcome } from '../../kube/queue/controller.ts';
import { isPaused, shortened } from '../status/conditions.ts';
import { decideTask, type TaskStep } from './decide-task.ts';
import { historyOf } from './history.ts';
import { deploymentOf, isReplaced, podOf, type TaskView } from './observe-task.ts';
import {
  isOfCronJob,
  type ObservedTask,
  readTask,
  type TaskJob,
  type TaskRefusal,
  type TaskResource,
} from './observed-task.ts';
import { deploymentKeyOf, isJobOf, type TaskCaches } from './task-caches.ts';

export interface TaskControllerOptions {
  readonly client: Pick<KubeClient, 'create' | 'patch' | 'delete' | 'find' | 'replaceStatus'>;
  readonly caches: TaskCaches;
  /** Deployments, their stored templates and all pods. */
  readonly view: TaskView;
  readonly policy: Policy;
  readonly mayAct: () => boolean;
  readonly clock: Pick<Clock, 'date'>;
  readonly logger: Logger;
}

/** Requeue delay while the caches do not show the last writes. The delay covers a lost event. */
const CATCH_UP_MS = 2_000;
/** Pause after a rejected Job. The cause may be temporary, such as a quota of the namespace. */
const REFUSED_PAUSE_MS = 15_000;
const MIN_PAUSE_MS = 100;
/** Steps in one reconcile: owner, creation, start. */
const MAX_STEPS = 4;

/** Reconciles tasks: observe, decide, report, act. All state is in the cluster. */
export class TaskController {
  readonly #options: TaskControllerOptions;

  constructor(options: TaskControllerOptions) {
    this.#options = options;
  }

  /** Reconciles the task of this key, and the history of its deployment. */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileOutcome> {
    const { caches } = this.#options;
    // The caches must show own writes first.
    if (!caches.isCurrent(key)) return { kind: 'requeue', afterMs: CATCH_UP_MS };
    const task = caches.task(key);
    if (task === undefined || task === null || task.metadata.deletionTimestamp !== undefined)
      return { kind: 'settled' };
    const times = [await this.#advance(task, signal), await this.#clean(task, signal)];
    const next = Math.min(...times.map((at) => at ?? Number.POSITIVE_INFINITY));
    if (!Number.isFinite(next)) return { kind: 'settled' };
    const now = this.#options.clock.date().getTime();
    return { kind: 'requeue', afterMs: Math.max(MIN_PAUSE_MS, next - now) };
  }

  /** Takes all steps that are possible now. @returns when to decide again, in ms since the epoch */
  async #advance(found: TaskResource, signal: AbortSignal): Promise<number | null> {
    const { clock, policy } = this.#options;
    let task = found;
    let refusal: TaskRefusal | null = null;
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      const observed = await this.#observe(task, refusal, signal);
      const decision = decideTask(observed, policy, clock.date());
      task = await this.#report(task, decision.status, signal);
      if (decision.step.kind === 'none') return decision.recheckAt;
      if (refusal !== null) return clock.date().getTime() + REFUSED_PAUSE_MS;
      if (decision.step.kind === 'adopt') task = await this.#adopt(task, observed, signal);
      else refusal = await this.#take(decision.step, observed, task, signal);
      if (decision.step.kind === 'delete') return null;
    }
    return clock.date().getTime() + CATCH_UP_MS;
  }

  async #observe(
    task: TaskResource,
    refusal: TaskRefusal | null,
    signal: AbortSignal,
  ): Promise<ObservedTask> {
    const { caches, view } = this.#options;
    const deploymentKey = deploymentKeyOf(task as unknown as UntypedObject);
    const named = caches.job(task) ?? (await this.#missing(task, signal));
    const job = named !== undefined && isJobOf(named, task) ? named : null;
    const deployment = deploymentOf(view, deploymentKey);
    return {
      task,
      deployment,
      job,
      isNameTaken: named !== undefined && job === null,
      pod: podOf(view, deploymentKey, task, job),
      refusal,
      isReplaced: isReplaced(task, job, { deployment, runs: caches.runsOf(deploymentKey) }),
    };
  }

  /** The recorded Job, if only the cache lacks it. A task fails without its Job, so the cache is not sufficient. */
  async #missing(task: TaskResource, signal: AbortSignal): Promise<TaskJob | undefined> {
    const { jobUid, completionTime } = task.status ?? {};
    if (jobUid === undefined || completionTime !== undefined) return undefined;
    const found = await this.#options.client.find<TaskJob>(RESOURCES.Job, task.metadata, { signal });
    if (found !== undefined) this.#options.caches.noteJob(found);
    return found;
  }

  async #report(
    task: TaskResource,
    status: DeploymentTaskStatus,
    signal: AbortSignal,
  ): Promise<TaskResource> {
    if (canonicalJson(task.status ?? {}) === canonicalJson(status)) return task;
    this.#mayAct();
    const { name, namespace, uid, resourceVersion } = task.metadata;
    const { apiVersion, kind } = DEPLOYMENT_TASK;
    const written = await this.#options.client.replaceStatus(
      // The version rejects a status that is based on an older state.
      { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status },
      { signal },
    );
    this.#options.caches.noteTask(written);
    const { state, reason, exitCode } = status;
    if (state !== task.status?.state)
      this.#options.logger.info(
        { task: keyOf(task), state, reason, exitCode },
        'reported the state of a task',
      );
    return {
      ...task,
      metadata: { ...task.metadata, ...written.metadata } as TaskResource['metadata'],
      status,
    };
  }

  /** @returns why the cluster rejected the Job; null: it did not */
  async #take(
    step: TaskStep,
    { job, deployment }: ObservedTask,
    task: TaskResource,
    signal: AbortSignal,
  ): Promise<TaskRefusal | null> {
    this.#mayAct();
    const { caches, client, logger } = this.#options;
    if (step.kind === 'create' && deployment !== null) {
      try {
        caches.noteJob(await client.create(taskJob(deployment.resource, task, step.template), { signal }));
      } catch (error) {
        return await this.#refusalOf(error, task, signal);
      }
    }
    if (step.kind === 'start' && job !== null) {
      const { uid } = job.metadata;
      // The uid is a precondition: another Job of this name never starts. A Job that must not start is deleted, not kept.
      const patch = { metadata: { uid }, spec: { suspend: false } };
      caches.noteJob(await client.patch(RESOURCES.Job, task.metadata, patch, { signal }));
      logger.info({ task: keyOf(task), job: job.metadata.name }, 'started a task');
    }
    if (step.kind === 'delete' && job !== null) await this.#deleteJob(job, step.why, signal);
    return null;
  }

  async #adopt(task: TaskResource, { deployment }: ObservedTask, signal: AbortSignal): Promise<TaskResource> {
    this.#mayAct();
    if (deployment === null) return task;
    const { resourceVersion, ownerReferences = [] } = task.metadata;
    const owner = ownerReference(deployment.resource.metadata);
    const patch = { metadata: { resourceVersion, ownerReferences: [...ownerReferences, owner] } };
    const { client, caches } = this.#options;
    const written = await client.patch(RESOURCES.DeploymentTask, task.metadata, patch, { signal });
    caches.noteTask(written);
    return readTask(written) ?? task;
  }

  async #deleteJob(job: TaskJob, why: string, signal: AbortSignal): Promise<void> {
    const { client, caches, logger } = this.#options;
    const { uid } = job.metadata;
    const options = {
      ...(uid === undefined ? {} : { uid }),
      propagationPolicy: 'Background' as const,
      signal,
    };
    try {
      await client.delete(RESOURCES.Job, job.metadata, options);
      caches.noteJobDeleted(job);
      logger.info({ job: keyOf(job), why }, 'ended a task');
    } catch (error) {
      if (!isKubeError(error, 'not_found', 'conflict')) throw error;
    }
  }

  /** @throws KubeError if a retry may help at once */
  async #refusalOf(error: unknown, task: TaskResource, signal: AbortSignal): Promise<TaskRefusal | null> {
    if (isKubeError(error, 'already_exists')) {
      const found = await this.#options.client.find<TaskJob>(RESOURCES.Job, task.metadata, { signal });
      if (found !== undefined && isJobOf(found, task)) {
        this.#options.caches.noteJob(found);
        return null;
      }
      const message = `a Job ${task.metadata.name} exists that Berth did not create for this task`;
      return { reason: 'Conflict', message };
    }
    if (!(error instanceof KubeError) || !isKubeError(error, 'forbidden', 'invalid', 'bad_request'))
      throw error;
    return { reason: 'Refused', message: shortened(`the cluster rejected the Job: ${error.message}`) };
  }

  /** Removes ended tasks that are too old or too many. @returns when the next one expires, in ms since the epoch */
  async #clean(task: TaskResource, signal: AbortSignal): Promise<number | null> {
    const { caches, view, client, clock, logger } = this.#options;
    const deploymentKey = deploymentKeyOf(task as unknown as UntypedObject);
    const deployment = view.resource(deploymentKey);
    if (deployment !== undefined && isPaused(deployment)) return null;
    const { expired, recheckAt } = historyOf(caches.tasksOf(deploymentKey), clock.date());
    for (const expiredTask of expired) {
      const { metadata } = expiredTask;
      this.#mayAct();
      try {
        // The Job of a CronJob does not belong to its task, and would get another one.
        const run = isOfCronJob(expiredTask) ? caches.job(expiredTask) : undefined;
        if (run !== undefined) await this.#deleteJob(run, 'its task has expired', signal);
        await client.delete(RESOURCES.DeploymentTask, metadata, {
          uid: metadata.uid,
          propagationPolicy: 'Background',
          signal,
        });
        logger.info({ task: keyOf({ metadata } as TaskResource) }, 'removed an ended task');
      } catch (error) {
        if (!isKubeError(error, 'not_found', 'conflict')) throw error;
      }
    }
    return recheckAt;
  }

  #mayAct(): void {
    if (!this.#options.mayAct())
      throw new Error('failed to act on a task: this operator is no longer the leader');
  }
}

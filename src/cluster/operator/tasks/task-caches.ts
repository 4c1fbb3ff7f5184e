import { LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import type { TaskOrigin } from '../../../domain/tasks/task.ts';
import { labelValue, TASK_COMPONENT } from '../../../workloads/labels.ts';
import type { Reflector } from '../../kube/cache/reflector.ts';
import { controllerOf, type KubeObject, keyOf, type UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import {
  type ByNamespace,
  onEachChange,
  type ReflectorsOptions,
  reflectorOf,
  reflectorsOf,
} from '../observe/cache-reflectors.ts';
import type { CacheHealth } from '../observe/caches.ts';
import { isOfCronJob, readTask, type TaskJob, type TaskResource, transformTaskJob } from './observed-task.ts';

/** Selects the objects that run tasks. */
export const TASK_SELECTOR = `${LABELS.managedBy}=${MANAGED_BY},${LABELS.component}=${TASK_COMPONENT}`;
/** Index of tasks: the key of their deployment. */
const BY_DEPLOYMENT = 'deployment';

/** Key of the deployment of a task. */
export function deploymentKeyOf(task: UntypedObject): string {
  const { deployment = '' } = (task['spec'] ?? {}) as { deployment?: string };
  return `${task.metadata.namespace}/${deployment}`;
}

/** Key of the deployment of a CronJob or of its Job. Empty: the object is neither. */
export function runKeys({ metadata: { namespace, labels = {} } }: KubeObject): string[] {
  const { [LABELS.schedule]: schedule, [LABELS.instance]: app } = labels;
  return schedule === undefined || app === undefined ? [] : [`${namespace}/${app}`];
}

/** Caches of tasks and their Jobs, in the namespaces that the operator watches. Their pods are in the other caches. */
export class TaskCaches {
  readonly #tasks: ByNamespace;
  readonly #jobs: ByNamespace;

  constructor(options: ReflectorsOptions) {
    this.#tasks = reflectorsOf(options, {
      resource: RESOURCES.DeploymentTask,
      indexes: { [BY_DEPLOYMENT]: (task) => [deploymentKeyOf(task)] },
    });
    this.#jobs = reflectorsOf(options, {
      resource: RESOURCES.Job,
      labelSelector: TASK_SELECTOR,
      transform: transformTaskJob,
      indexes: { [BY_DEPLOYMENT]: runKeys },
    });
  }

  /** Calls back with the key of each task that changed, or whose Job changed. */
  onChange(changed: (key: string) => void): void {
    // The Job has the name of its task.
    const notify = (object: UntypedObject) => changed(keyOf(object));
    onEachChange(this.#tasks, notify);
    onEachChange(this.#jobs, notify);
  }

  /** Calls back with the key of the deployment when a task of a release has changed. */
  onRelease(changed: (deploymentKey: string) => void): void {
    onEachChange(this.#tasks, (task) => {
      if ((task['spec'] as { origin?: string } | undefined)?.origin === ('release' satisfies TaskOrigin))
        changed(deploymentKeyOf(task));
    });
  }

  /** Calls back with the key of the deployment of each run that changed. */
  onRunChange(changed: (deploymentKey: string) => void): void {
    onEachChange(this.#jobs, (job) => runKeys(job).forEach(changed));
    onEachChange(this.#tasks, (task) => {
      if (isRun(task)) changed(deploymentKeyOf(task));
    });
  }

  #all(): Reflector<UntypedObject>[] {
    return [...this.#tasks.values(), ...this.#jobs.values()];
  }

  start(): void {
    for (const reflector of this.#all()) reflector.start();
  }

  async waitForSync(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all().map((reflector) => reflector.waitForSync(signal)));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all().map((reflector) => reflector.stop()));
  }

  /** Whether the list or watch of the tasks fails at present. */
  isFailing(): boolean {
    return [...this.#tasks.values()].some((reflector) => reflector.stats().lastError !== undefined);
  }

  stats(): CacheHealth[] {
    return [['DeploymentTask', this.#tasks] as const, ['TaskJob', this.#jobs] as const].flatMap(
      ([kind, byNamespace]) =>
        [...byNamespace].map(([namespace, reflector]) => ({ kind, namespace, stats: reflector.stats() })),
    );
  }

  /** The task of this key; null: this version cannot parse it; undefined: it does not exist. */
  task(key: string): TaskResource | null | undefined {
    const found = reflectorOf(this.#tasks, key)?.store.get(key);
    return found === undefined ? undefined : readTask(found);
  }

  /** Keys of the tasks of a deployment. */
  keysOf(deploymentKey: string): string[] {
    return reflectorOf(this.#tasks, deploymentKey)?.store.keysByIndex(BY_DEPLOYMENT, deploymentKey) ?? [];
  }

  /** The tasks of a deployment, without those that this version cannot parse. */
  tasksOf(deploymentKey: string): TaskResource[] {
    const found = reflectorOf(this.#tasks, deploymentKey)?.store.byIndex(BY_DEPLOYMENT, deploymentKey) ?? [];
    return found.map(readTask).filter((task) => task !== null);
  }

  /** The Jobs of the CronJobs of a deployment. */
  runsOf(deploymentKey: string): TaskJob[] {
    return (reflectorOf(this.#jobs, deploymentKey)?.store.byIndex(BY_DEPLOYMENT, deploymentKey) ??
      []) as TaskJob[];
  }

  /** The cached Job with the name of the task; undefined: none is cached. */
  job(task: TaskResource): TaskJob | undefined {
    return reflectorOf(this.#jobs, keyOf(task))?.store.get(keyOf(task)) as TaskJob | undefined;
  }

  noteTask(written: KubeObject): void {
    reflectorOf(this.#tasks, keyOf(written))?.noteWrite(written as UntypedObject);
  }

  noteJob(written: KubeObject): void {
    reflectorOf(this.#jobs, keyOf(written))?.noteWrite(transformTaskJob(written as UntypedObject));
  }

  noteJobDeleted(job: KubeObject): void {
    reflectorOf(this.#jobs, keyOf(job))?.noteDelete(keyOf(job), job.metadata.uid ?? '');
  }

  /** Whether the caches show the last writes of this process to the task and its Job. */
  isCurrent(key: string): boolean {
    return [this.#tasks, this.#jobs].every(
      (reflectors) => reflectorOf(reflectors, key)?.isCurrent(key) ?? true,
    );
  }
}

const isRun = ({ spec }: UntypedObject): boolean =>
  (spec as { schedule?: string } | undefined)?.schedule !== undefined;

/** Whether a Job belongs to a task: by its owner and its label, which both have the uid of the task, or the schedule of a CronJob. */
export function isJobOf(job: KubeObject, task: TaskResource): boolean {
  const { uid } = task.metadata;
  if (isOfCronJob(task))
    return job.metadata.labels?.[LABELS.schedule] === task.spec.schedule && isJobOfCronJob(job);
  return job.metadata.labels?.[LABELS.taskUid] === labelValue(uid) && controllerOf(job)?.uid === uid;
}

/** Whether a CronJob has created the Job. */
export const isJobOfCronJob = (job: KubeObject): boolean => controllerOf(job)?.kind === 'CronJob';

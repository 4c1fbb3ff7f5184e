import { LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import type { TaskOrigin } from '../../../domain/tasks/task.ts';
import { labelValue, TASK_COMPONENT } from '../../../workloads/labels.ts';
import { Reflector } from '../../kube/cache/reflector.ts';
import type { ReflectorOptions } from '../../kube/cache/reflector-options.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { controllerOf, type KubeObject, keyOf, type UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { CacheHealth } from '../observe/caches.ts';
import { isOfCronJob, readTask, type TaskJob, type TaskResource, transformTaskJob } from './observed-task.ts';

/** Selects the objects that run tasks. */
export const TASK_SELECTOR = `${LABELS.managedBy}=${MANAGED_BY},${LABELS.component}=${TASK_COMPONENT}`;
/** Index of tasks: the key of their deployment. */
const BY_DEPLOYMENT = 'deployment';
const ALL = '';
/** Uncompressed objects of each cache. */
const MAX_PLAIN = 64;

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

type ByNamespace = ReadonlyMap<string, Reflector<UntypedObject>>;

/** Caches of tasks and their Jobs, in the namespaces that the operator watches. Their pods are in the other caches. */
export class TaskCaches {
  readonly #tasks: ByNamespace;
  readonly #jobs: ByNamespace;

  constructor({
    client,
    namespaces,
    logger,
  }: {
    client: KubeClient;
    /** Empty: all. */
    namespaces: readonly string[];
    logger: Logger;
  }) {
    const of = (
      more: Pick<ReflectorOptions<UntypedObject>, 'resource' | 'labelSelector' | 'transform' | 'indexes'>,
    ) =>
      new Map(
        (namespaces.length === 0 ? [ALL] : namespaces).map((namespace) => [
          namespace,
          new Reflector<UntypedObject>({
            client,
            logger,
            maxUncompressed: MAX_PLAIN,
            ...(namespace === ALL ? {} : { namespace }),
            ...more,
          }),
        ]),
      );
    this.#tasks = of({
      resource: RESOURCES.DeploymentTask,
      indexes: { [BY_DEPLOYMENT]: (task: UntypedObject) => [deploymentKeyOf(task)] },
    });
    this.#jobs = of({
      resource: RESOURCES.Job,
      labelSelector: TASK_SELECTOR,
      transform: transformTaskJob,
      indexes: { [BY_DEPLOYMENT]: (job: UntypedObject) => runKeys(job) },
    });
  }

  /** Calls back with the key of each task that changed, or whose Job changed. */
  onChange(changed: (key: string) => void): void {
    // The Job has the name of its task.
    const notify = (object: UntypedObject) => changed(keyOf(object));
    for (const reflector of this.#all()) {
      reflector.addHandlers({ added: notify, updated: notify, deleted: notify });
    }
  }

  /** Calls back with the key of the deployment when a task of a release has changed. */
  onRelease(changed: (deploymentKey: string) => void): void {
    const notify = (task: UntypedObject) => {
      if ((task['spec'] as { origin?: string } | undefined)?.origin === ('release' satisfies TaskOrigin))
        changed(deploymentKeyOf(task));
    };
    for (const reflector of this.#tasks.values()) {
      reflector.addHandlers({ added: notify, updated: notify, deleted: notify });
    }
  }

  #all(): Reflector<UntypedObject>[] {
    return [...this.#tasks.values(), ...this.#jobs.values()];
  }

  /** Calls back with the key of the deployment of each run that changed. */
  onRunChange(changed: (deploymentKey: string) => void): void {
    const ofJob = (job: UntypedObject) => runKeys(job).forEach(changed);
    const ofTask = (task: UntypedObject) => {
      if (isRun(task)) changed(deploymentKeyOf(task));
    };
    for (const reflector of this.#jobs.values())
      reflector.addHandlers({ added: ofJob, updated: ofJob, deleted: ofJob });
    for (const reflector of this.#tasks.values())
      reflector.addHandlers({ added: ofTask, updated: ofTask, deleted: ofTask });
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
    const found = within(this.#tasks, key)?.store.get(key);
    return found === undefined ? undefined : readTask(found);
  }

  /** Keys of the tasks of a deployment. */
  keysOf(deploymentKey: string): string[] {
    return within(this.#tasks, deploymentKey)?.store.keysByIndex(BY_DEPLOYMENT, deploymentKey) ?? [];
  }

  /** The tasks of a deployment, without those that this version cannot parse. */
  tasksOf(deploymentKey: string): TaskResource[] {
    const found = within(this.#tasks, deploymentKey)?.store.byIndex(BY_DEPLOYMENT, deploymentKey) ?? [];
    return found.map(readTask).filter((task) => task !== null);
  }

  /** The Jobs of the CronJobs of a deployment. */
  runsOf(deploymentKey: string): TaskJob[] {
    return (within(this.#jobs, deploymentKey)?.store.byIndex(BY_DEPLOYMENT, deploymentKey) ??
      []) as TaskJob[];
  }

  /** The cached Job with the name of the task; undefined: none is cached. */
  job(task: TaskResource): TaskJob | undefined {
    return within(this.#jobs, keyOf(task))?.store.get(keyOf(task)) as TaskJob | undefined;
  }

  noteTask(written: KubeObject): void {
    within(this.#tasks, keyOf(written))?.noteWrite(written as UntypedObject);
  }

  noteJob(written: KubeObject): void {
    within(this.#jobs, keyOf(written))?.noteWrite(transformTaskJob(written as UntypedObject));
  }

  noteJobDeleted(job: KubeObject): void {
    within(this.#jobs, keyOf(job))?.noteDelete(keyOf(job), job.metadata.uid ?? '');
  }

  /** Whether the caches show the last writes of this process to the task and its Job. */
  isCurrent(key: string): boolean {
    return [this.#tasks, this.#jobs].every((reflectors) => within(reflectors, key)?.isCurrent(key) ?? true);
  }
}

function within(byNamespace: ByNamespace, key: string): Reflector<UntypedObject> | undefined {
  return byNamespace.get(ALL) ?? byNamespace.get(key.slice(0, key.indexOf('/')));
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

import { type KubeObject, keyOf, type UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import {
  type ByNamespace,
  onEachChange,
  type ReflectorsOptions,
  reflectorOf,
  reflectorsOf,
} from '../observe/cache-reflectors.ts';
import type { CacheHealth } from '../observe/caches.ts';
import { runKeys, TASK_SELECTOR } from '../tasks/task-caches.ts';

/** The CronJobs of schedules, in the namespaces that the operator watches. */

/** A CronJob, as read from the cluster. */
export interface CronJobObject extends KubeObject {
  spec?: { suspend?: boolean };
  status?: { active?: object[] };
}

const BY_DEPLOYMENT = 'deployment';

export class ScheduleCaches {
  readonly #cronJobs: ByNamespace;

  constructor(options: ReflectorsOptions) {
    this.#cronJobs = reflectorsOf(options, {
      resource: RESOURCES.CronJob,
      labelSelector: TASK_SELECTOR,
      indexes: { [BY_DEPLOYMENT]: runKeys },
    });
  }

  /** Calls back with the key of the deployment of each CronJob that changed. */
  onChange(changed: (deploymentKey: string) => void): void {
    onEachChange(this.#cronJobs, (cronJob) => runKeys(cronJob).forEach(changed));
  }

  start(): void {
    for (const reflector of this.#cronJobs.values()) reflector.start();
  }

  async waitForSync(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#cronJobs.values()].map((reflector) => reflector.waitForSync(signal)));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#cronJobs.values()].map((reflector) => reflector.stop()));
  }

  stats(): CacheHealth[] {
    return [...this.#cronJobs].map(([namespace, reflector]) => ({
      kind: 'CronJob',
      namespace,
      stats: reflector.stats(),
    }));
  }

  /** The CronJobs with the name of this deployment. */
  cronJobsOf(deploymentKey: string): CronJobObject[] {
    return (reflectorOf(this.#cronJobs, deploymentKey)?.store.byIndex(BY_DEPLOYMENT, deploymentKey) ??
      []) as CronJobObject[];
  }

  /** Whether the caches show the last writes of this process to these objects. */
  isCurrent(keys: readonly string[]): boolean {
    return keys.every((key) => reflectorOf(this.#cronJobs, key)?.isCurrent(key) ?? true);
  }

  noteWrite(written: KubeObject): void {
    reflectorOf(this.#cronJobs, keyOf(written))?.noteWrite(written as UntypedObject);
  }

  noteDelete(object: KubeObject): void {
    reflectorOf(this.#cronJobs, keyOf(object))?.noteDelete(keyOf(object), object.metadata.uid ?? '');
  }
}

import type { Logger } from '../../../domain/core/logger.ts';
import { Reflector } from '../../kube/cache/reflector.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { type KubeObject, keyOf, type UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { CacheHealth } from '../observe/caches.ts';
import { runKeys, TASK_SELECTOR } from '../tasks/task-caches.ts';

/** The CronJobs of schedules, in the namespaces that the operator watches. */

/** A CronJob, as read from the cluster. */
export interface CronJobObject extends KubeObject {
  spec?: { suspend?: boolean };
  status?: { active?: object[] };
}

const BY_DEPLOYMENT = 'deployment';
const ALL = '';
/** Uncompressed objects of each cache. */
const MAX_PLAIN = 64;

export class ScheduleCaches {
  readonly #cronJobs: ReadonlyMap<string, Reflector<UntypedObject>>;

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
    this.#cronJobs = new Map(
      (namespaces.length === 0 ? [ALL] : namespaces).map((namespace) => [
        namespace,
        new Reflector<UntypedObject>({
          client,
          logger,
          maxUncompressed: MAX_PLAIN,
          resource: RESOURCES.CronJob,
          labelSelector: TASK_SELECTOR,
          indexes: { [BY_DEPLOYMENT]: (object: UntypedObject) => runKeys(object) },
          ...(namespace === ALL ? {} : { namespace }),
        }),
      ]),
    );
  }

  /** Calls back with the key of the deployment of each CronJob that changed. */
  onChange(changed: (deploymentKey: string) => void): void {
    const notify = (object: UntypedObject) => runKeys(object).forEach(changed);
    for (const reflector of this.#cronJobs.values())
      reflector.addHandlers({ added: notify, updated: notify, deleted: notify });
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
    return (this.#within(deploymentKey)?.store.byIndex(BY_DEPLOYMENT, deploymentKey) ??
      []) as CronJobObject[];
  }

  /** Whether the caches show the last writes of this process to these objects. */
  isCurrent(keys: readonly string[]): boolean {
    return keys.every((key) => this.#within(key)?.isCurrent(key) ?? true);
  }

  noteWrite(written: KubeObject): void {
    this.#within(keyOf(written))?.noteWrite(written as UntypedObject);
  }

  noteDelete(object: KubeObject): void {
    this.#within(keyOf(object))?.noteDelete(keyOf(object), object.metadata.uid ?? '');
  }

  #within(key: string): Reflector<UntypedObject> | undefined {
    return this.#cronJobs.get(ALL) ?? this.#cronJobs.get(key.slice(0, key.indexOf('/')));
  }
}

import { LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { BUILD_COMPONENT } from '../../../workloads/objects/build-job.ts';
import { Reflector } from '../../kube/cache/reflector.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { type KubeObject, keyOf, type UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { CacheHealth } from '../observe/caches.ts';
import type { ObservedPod } from '../observed.ts';
import { type ObservedJob, transformBuildPod, transformJob } from './observed-build.ts';

const SELECTOR = `${LABELS.managedBy}=${MANAGED_BY},${LABELS.component}=${BUILD_COMPONENT}`;
const BY_APP = 'app';

/** Key of the custom resource of an object in the build namespace. */
export function buildKeyOf({ metadata }: KubeObject): string {
  const { labels = {} } = metadata;
  return `${labels[LABELS.namespace] ?? ''}/${labels[LABELS.instance] ?? ''}`;
}

/** Caches of Jobs and pods in the build namespace, for the namespaces that the operator watches. */
export class BuildCaches {
  readonly #jobs: Reflector<UntypedObject>;
  readonly #pods: Reflector<UntypedObject>;
  readonly #namespace: string;

  constructor(options: {
    client: KubeClient;
    /** The build namespace. */
    namespace: string;
    /** Namespaces that the operator watches; empty: all. */
    namespaces: readonly string[];
    logger: Logger;
  }) {
    const { client, namespace, namespaces, logger } = options;
    this.#namespace = namespace;
    const within = namespaces.length === 0 ? '' : `,${LABELS.namespace} in (${namespaces.join(',')})`;
    const shared = {
      client,
      namespace,
      logger,
      labelSelector: `${SELECTOR}${within}`,
      indexes: { [BY_APP]: (object: UntypedObject) => [buildKeyOf(object)] },
    };
    this.#jobs = new Reflector({ ...shared, resource: RESOURCES.Job, transform: transformJob });
    this.#pods = new Reflector({ ...shared, resource: RESOURCES.Pod, transform: transformBuildPod });
  }

  /** Calls back with the key of the custom resource whose build changed. */
  onChange(changed: (key: string) => void): void {
    const notify = (object: UntypedObject) => changed(buildKeyOf(object));
    for (const reflector of [this.#jobs, this.#pods]) {
      reflector.addHandlers({ added: notify, updated: notify, deleted: notify });
    }
  }

  start(): void {
    this.#jobs.start();
    this.#pods.start();
  }

  async waitForSync(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#jobs.waitForSync(signal), this.#pods.waitForSync(signal)]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#jobs.stop(), this.#pods.stop()]);
  }

  /** Health of both caches. */
  stats(): CacheHealth[] {
    return [this.#jobs, this.#pods].map((reflector) => ({
      kind: `Build${reflector.resource.kind}`,
      namespace: this.#namespace,
      stats: reflector.stats(),
    }));
  }

  jobs(): ObservedJob[] {
    return this.#jobs.store.list() as ObservedJob[];
  }

  pods(): ObservedPod[] {
    return this.#pods.store.list() as ObservedPod[];
  }

  jobsOf(key: string): ObservedJob[] {
    return this.#jobs.store.byIndex(BY_APP, key) as ObservedJob[];
  }

  podsOf(key: string): ObservedPod[] {
    return this.#pods.store.byIndex(BY_APP, key) as ObservedPod[];
  }

  noteWrite(job: KubeObject): void {
    this.#jobs.noteWrite(transformJob(job as UntypedObject));
  }

  noteDelete(job: KubeObject): void {
    this.#jobs.noteDelete(keyOf(job), job.metadata.uid ?? '');
  }
}

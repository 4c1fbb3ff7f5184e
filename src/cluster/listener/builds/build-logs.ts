import { LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { BUILD_COMPONENT } from '../../../workloads/objects/build-job.ts';
import { Reflector } from '../../kube/cache/reflector.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/client/clock.ts';
import { keyOf } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { type ReconcileOutcome, runWorkers } from '../../kube/queue/controller.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import type { ResourceView } from '../resource-view.ts';
import { type HubClient, HubError } from '../session/hub-client.ts';
import type { Term } from '../session/term.ts';
import { BuildLogTail, type TurnResult } from './build-log-tail.ts';
import { type BuildPod, trimBuildPod } from './build-pod.ts';

/** Sends the logs of all pods in the build namespace to the hub. Tenants take turns. */

export interface BuildLogsOptions {
  readonly client: KubeClient;
  readonly hub: Pick<HubClient, 'buildLogs'>;
  readonly term: Term;
  readonly view: Pick<ResourceView, 'covers'>;
  /** The build namespace. */
  readonly namespace: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Fires to stop new work. */
  readonly signal: AbortSignal;
  /** Fires to abort current work. */
  readonly abort: AbortSignal;
}

/**
 * Number of logs that are read at the same time. No build keeps a stream open, so this limits neither builds nor
 * tenants.
 */
const WORKERS = 4;
const TURN_MS = 30_000;
/** Pause before the next read of a log, with and without new lines in the last read. */
const PAUSE_MS: Readonly<Record<Exclude<TurnResult, 'done'>, number>> = { more: 0, news: 1000, quiet: 2000 };
/** An older hub does not accept logs. */
const OLD_HUB_PAUSE_MS = 300_000;
const BACKOFF = { baseMs: 500, capMs: 30_000 };

/** State of one pod. The state outlives the pod until its log is complete. */
interface Followed {
  pod: BuildPod;
  gone: boolean;
  readonly tail: BuildLogTail;
}

class BuildLogs {
  readonly #options: BuildLogsOptions;
  readonly #followed = new Map<string, Followed>();
  /** Uids of pods whose logs are complete; removed with the pod. */
  readonly #done = new Set<string>();
  readonly #queue: WorkQueue;
  readonly #pods: Reflector<BuildPod>;

  constructor(options: BuildLogsOptions) {
    this.#options = options;
    const { client, namespace, logger, clock } = options;
    this.#queue = new WorkQueue({
      clock,
      backoff: BACKOFF,
      tenantOf: (key) => this.#followed.get(key)?.pod.metadata.labels?.[LABELS.tenantId] ?? '',
    });
    this.#pods = new Reflector<BuildPod>({
      client,
      resource: RESOURCES.Pod,
      namespace,
      labelSelector: `${LABELS.managedBy}=${MANAGED_BY},${LABELS.component}=${BUILD_COMPONENT}`,
      transform: trimBuildPod,
      logger,
      clock,
    });
  }

  async run(): Promise<void> {
    const { logger, signal, abort } = this.#options;
    const unfollow = this.#pods.addHandlers({
      added: (pod) => this.#see(pod),
      updated: (pod) => this.#see(pod),
      deleted: (pod) => this.#lose(pod),
    });
    this.#pods.start();
    try {
      await runWorkers({
        queue: this.#queue,
        reconcile: (key, ending) => this.#turn(key, ending),
        workers: WORKERS,
        deadlineMs: TURN_MS,
        logger,
        signal,
        abort,
      });
    } finally {
      unfollow();
      await this.#pods.stop();
    }
  }

  #see(pod: BuildPod): void {
    const { uid = '', labels = {} } = pod.metadata;
    // Skips deployments of other listeners, and complete logs.
    if (!this.#options.view.covers(labels[LABELS.namespace] ?? '') || this.#done.has(uid)) return;
    const { client, hub, term } = this.#options;
    const known = this.#followed.get(uid);
    if (known === undefined) {
      const tail = new BuildLogTail({ client, hub, epoch: term.epoch });
      this.#followed.set(uid, { pod, gone: false, tail });
    } else known.pod = pod;
    this.#queue.add(uid);
  }

  #lose({ metadata: { uid = '' } }: BuildPod): void {
    this.#done.delete(uid);
    const known = this.#followed.get(uid);
    if (known === undefined) return;
    known.gone = true;
    this.#queue.add(uid);
  }

  async #turn(key: string, signal: AbortSignal): Promise<ReconcileOutcome> {
    const followed = this.#followed.get(key);
    const { term } = this.#options;
    if (followed === undefined || !term.isValid()) return { kind: 'settled' };
    try {
      const turn = await followed.tail.turn(followed.pod, followed.gone, signal);
      if (turn !== 'done') return { kind: 'requeue', afterMs: PAUSE_MS[turn] };
      this.#followed.delete(key);
      if (this.#pods.store.get(keyOf(followed.pod))?.metadata.uid === key) this.#done.add(key);
      return { kind: 'settled' };
    } catch (error) {
      return this.#failed(error);
    }
  }

  #failed(error: unknown): ReconcileOutcome {
    if (error instanceof HubError && error.kind === 'conflict') {
      this.#options.term.end(error.message);
      return { kind: 'settled' };
    }
    if (error instanceof HubError && error.isOfOlderHub)
      return { kind: 'requeue', afterMs: OLD_HUB_PAUSE_MS };
    return { kind: 'retry', error };
  }
}

/** Resolves when the signal has fired and all work has ended. */
export function followBuildLogs(options: BuildLogsOptions): Promise<void> {
  return new BuildLogs(options).run();
}

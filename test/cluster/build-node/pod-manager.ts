import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { isKubeError } from '../../../src/cluster/kube/client/errors.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import type { Logger } from '../../../src/domain/core/logger.ts';
import { deletePodAtOnce } from '../delete-pod.ts';
import type { ContainerLog } from './container-log.ts';
import { now, PodRun } from './pod-run.ts';
import { lostStatus } from './pod-status.ts';
import { isTerminal, type Pod } from './pod-types.ts';
import { killRecorded } from './process-group.ts';
import { StatusWriter } from './status-writer.ts';

/** Runs each pod that is bound to this node once, ends it when it is deleted, and keeps its logs until it is removed. */

export interface PodManagerOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly node: string;
  /** Contains a folder for each pod, named after its uid. */
  readonly folder: string;
  readonly berth: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly logger: Logger;
}

// The reasons are those that Kubernetes itself uses.
const LOST = {
  reason: 'NodeLost',
  message: 'the build node was restarted, and the containers of the pod were lost',
};
const STOPPED = { reason: 'Terminated', message: 'the build node was stopped' };
const DEFAULT_GRACE_SECONDS = 30;

export class PodManager {
  readonly #options: PodManagerOptions;
  readonly #reflector: Reflector<Pod>;
  readonly #runs = new Map<string, PodRun>();
  readonly #ending = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(options: PodManagerOptions) {
    this.#options = options;
    const { client, namespace, node, logger } = options;
    this.#reflector = new Reflector<Pod>({
      client,
      resource: RESOURCES.Pod,
      namespace,
      fieldSelector: `spec.nodeName=${node}`,
      logger,
    });
  }

  /** Ends processes that a previous process of the node left, then starts. Resolves when all pods of the node are known. */
  async start(signal: AbortSignal): Promise<void> {
    this.#killLeftovers();
    this.#reflector.addHandlers({
      added: (pod) => this.#handle(pod),
      updated: (pod) => this.#handle(pod),
      deleted: (pod) => this.#cleanUp(pod),
    });
    this.#reflector.start();
    await this.#reflector.waitForSync(signal);
    const known = new Set(this.#reflector.store.list().map(({ metadata }) => metadata.uid));
    for (const uid of this.#folders()) {
      if (!known.has(uid)) this.#remove(uid);
    }
  }

  /** Ends every pod, and reports the reason. */
  async stop(): Promise<void> {
    await this.#reflector.stop();
    await Promise.all([...this.#runs.values()].map((run) => run.end(0, STOPPED)));
    this.#stopping.abort();
    await Promise.all(this.#ending.values());
  }

  /** The log of a container. @throws Error with a message for the client if the log does not exist */
  log(namespace: string, pod: string, container: string): ContainerLog {
    const found = this.#reflector.store.get(`${namespace}/${pod}`);
    if (found === undefined) throw new Error(`pod "${pod}" is not on this node`);
    const log = this.#runs.get(found.metadata.uid ?? '')?.log(container);
    if (log === undefined) throw new Error(`container "${container}" in pod "${pod}" is waiting to start`);
    return log;
  }

  #handle(pod: Pod): void {
    const { uid = '', deletionTimestamp } = pod.metadata;
    const run = this.#runs.get(uid);
    if (deletionTimestamp !== undefined) this.#end(pod, run);
    else if (run === undefined && !isTerminal(pod)) this.#start(pod, uid);
  }

  #start(pod: Pod, uid: string): void {
    const { logger } = this.#options;
    const { name } = pod.metadata;
    if (pod.status?.startTime !== undefined) {
      logger.warn({ pod: name }, 'lost a pod of the previous process');
      this.#writer(pod).set(lostStatus(pod, LOST, now()));
      return;
    }
    logger.info({ pod: name }, 'running a pod');
    const folder = join(this.#options.folder, uid);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const run = new PodRun({ ...this.#options, pod, folder, stopping: this.#stopping.signal });
    this.#runs.set(uid, run);
    run.run().then(() => logger.info({ pod: name }, 'a pod has ended'));
  }

  #writer(pod: Pod): StatusWriter {
    const { client, logger } = this.#options;
    return new StatusWriter(client, pod, logger, this.#stopping.signal);
  }

  /** Removes a deleted pod after its processes have ended. The API server waits for this node to confirm it. */
  #end(pod: Pod, run: PodRun | undefined): void {
    const { uid = '', deletionGracePeriodSeconds = DEFAULT_GRACE_SECONDS } = pod.metadata;
    if (this.#ending.has(uid)) return;
    const ending = (async () => {
      await run?.end(deletionGracePeriodSeconds);
      await this.#confirm(pod);
    })().finally(() => this.#ending.delete(uid));
    this.#ending.set(uid, ending);
  }

  async #confirm({ metadata: { name, namespace = '', uid } }: Pod): Promise<void> {
    const { client, logger } = this.#options;
    try {
      await deletePodAtOnce(client, { namespace, name }, uid);
    } catch (error) {
      // The next event of the pod, or a restart, causes another attempt.
      if (!isKubeError(error, 'not_found', 'conflict')) {
        logger.warn({ pod: name, error: String(error) }, 'failed to remove a pod');
      }
    }
  }

  #cleanUp({ metadata: { uid = '' } }: Pod): void {
    const run = this.#runs.get(uid);
    this.#runs.delete(uid);
    const ended = run === undefined ? Promise.resolve() : run.end(0);
    ended.then(() => this.#remove(uid));
  }

  #folders(): string[] {
    const { folder } = this.#options;
    return existsSync(folder) ? readdirSync(folder).filter((name) => /^[0-9a-f-]{36}$/.test(name)) : [];
  }

  #killLeftovers(): void {
    for (const uid of this.#folders()) {
      const pids = join(this.#options.folder, uid, 'pids');
      for (const name of existsSync(pids) ? readdirSync(pids) : []) killRecorded(join(pids, name));
    }
  }

  #remove(uid: string): void {
    rmSync(join(this.#options.folder, uid), { recursive: true, force: true });
  }
}

import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { sleep, systemClock } from '../../../src/cluster/kube/client/clock.ts';
import { isKubeError } from '../../../src/cluster/kube/client/errors.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { fullJitter } from '../../../src/domain/core/backoff.ts';
import type { Logger } from '../../../src/domain/core/logger.ts';
import type { Pod } from './pod-types.ts';

const BACKOFF = { baseMs: 200, capMs: 5_000 };

/** Writes the newest status of a pod, and retries until the API server has stored it. Older statuses may be skipped. */
export class StatusWriter {
  readonly #client: Pick<KubeClient, 'patch'>;
  readonly #pod: Pod;
  readonly #logger: Logger;
  readonly #stopping: AbortSignal;
  #pending: object | undefined;
  #writing: Promise<void> | undefined;

  constructor(client: Pick<KubeClient, 'patch'>, pod: Pod, logger: Logger, stopping: AbortSignal) {
    this.#client = client;
    this.#pod = pod;
    this.#logger = logger;
    this.#stopping = stopping;
  }

  set(status: object): void {
    this.#pending = status;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Resolves when the newest status is written, or cannot be written. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    const { name, namespace, uid } = this.#pod.metadata;
    for (let failures = 0; this.#pending !== undefined && !this.#stopping.aborted; ) {
      const status = this.#pending;
      try {
        // The uid prevents a write to another pod with the same name.
        await this.#client.patch(
          RESOURCES.Pod,
          { name, ...(namespace === undefined ? {} : { namespace }) },
          { metadata: { uid }, status },
          { subresource: 'status' },
        );
        failures = 0;
        if (this.#pending === status) this.#pending = undefined;
      } catch (error) {
        const fields = { pod: name, error: String(error) };
        if (isKubeError(error, 'not_found', 'conflict')) return this.#giveUp();
        if (isKubeError(error, 'invalid')) {
          this.#logger.error(fields, 'the API server rejected the status of a pod');
          return this.#giveUp();
        }
        this.#logger.warn(fields, 'failed to write the status of a pod; trying again');
        await sleep(systemClock, fullJitter(failures, BACKOFF, Math.random), this.#stopping);
        failures += 1;
      }
    }
  }

  /** The pod no longer exists, or the status is invalid. */
  #giveUp(): void {
    this.#pending = undefined;
  }
}

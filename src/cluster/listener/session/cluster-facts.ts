import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { OPERATOR_LEASE } from '../../../contract/resource/names.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { CLUSTER_NAMESPACE, clusterId } from '../../../domain/deployment/cluster-id.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { type Clock, sleep } from '../../kube/client/clock.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { ClusterFacts } from './term.ts';

export interface ClusterProbeOptions {
  client: Pick<KubeClient, 'serverVersion' | 'find'>;
  /** Berth's own namespace, which contains the Lease of the operators; absent: unknown, so only the version is read. */
  ownNamespace?: string | undefined;
  /** Namespaces to work in; empty: all. */
  namespaces: readonly string[];
  /** Current error of list or watch; undefined: none. */
  lastError: () => string | undefined;
  /** Namespaces that currently cannot be read. */
  unreadable: () => { namespace: string; message: string }[];
  rendering: Omit<RenderConfig, 'kubernetesVersion'>;
  logger: Logger;
  clock: Clock;
}

/** Poll interval of the API server. An open watch does not prove that the API server responds. */
const ASK_EVERY_MS = 20_000;
/**
 * Poll interval of the version. The version changes with an upgrade of the cluster, which usually interrupts its API.
 */
const VERSION_EVERY_MS = 3_600_000;
const TIMEOUT_MS = 4000;
/** Limit of the protocol. */
const MAX_MESSAGE = 1024;

/** Finds out whether the cluster responds, its id and its version. */
export class ClusterProbe {
  readonly #options: ClusterProbeOptions;
  #version: { major: string; minor: string; gitVersion: string } | undefined;
  #id: string | undefined;
  #failing: ReadonlySet<string> = new Set();
  #askedAt = Number.NEGATIVE_INFINITY;
  #versionAt = Number.NEGATIVE_INFINITY;
  #reachable = true;
  /** The current poll. It never fails. undefined: no poll waits for the cluster. */
  #polling: Promise<void> | undefined;

  constructor(options: ClusterProbeOptions) {
    this.#options = options;
  }

  /** Result of the last poll. */
  get isReachable(): boolean {
    return this.#reachable;
  }

  /** Whether the last poll succeeded and no poll waits for the cluster. */
  get isResponding(): boolean {
    return this.#reachable && this.#polling === undefined;
  }

  /**
   * The facts that the hub receives with the lease. Never fails.
   * @param mostMs maximum wait for the cluster; 0: no poll. A poll that takes longer continues, and the result contains
   * the last known facts
   */
  async facts(mostMs = Number.POSITIVE_INFINITY): Promise<ClusterFacts> {
    const lastError = this.#options.lastError();
    if (lastError !== undefined) this.#note(lastError);
    else if (mostMs > 0) await this.#poll(mostMs);
    const version = this.#version;
    return {
      cluster_version: version?.gitVersion.slice(0, 64) ?? '',
      rendering:
        version === undefined
          ? null
          : { ...this.#options.rendering, kubernetesVersion: kubernetesVersion(version) },
      cluster_reachable: this.#reachable,
      unreadable_namespaces: this.#unreadable(),
      ...(this.#id === undefined ? {} : { cluster_id: this.#id }),
    };
  }

  /**
   * Reported with each renewal of the lease. Reported as a failure only if it persists for two renewals, so that a
   * short interruption of a watch does not count.
   */
  #unreadable(): { namespace: string; message: string }[] {
    const now = this.#options.unreadable();
    const lasting = now.filter(({ namespace }) => this.#failing.has(namespace));
    this.#failing = new Set(now.map(({ namespace }) => namespace));
    return lasting.map(({ namespace, message }) => ({ namespace, message: message.slice(0, MAX_MESSAGE) }));
  }

  /** Concurrent calls share one poll. */
  async #poll(mostMs: number): Promise<void> {
    this.#polling ??= this.#ask().then((why) => {
      this.#polling = undefined;
      this.#note(this.#options.lastError() ?? why);
    });
    if (!Number.isFinite(mostMs)) return await this.#polling;
    const over = new AbortController();
    await Promise.race([this.#polling, sleep(this.#options.clock, mostMs, over.signal)]);
    over.abort();
  }

  async #ask(): Promise<string | undefined> {
    const now = this.#options.clock.now();
    if (this.#reachable && this.#version !== undefined && now - this.#askedAt < ASK_EVERY_MS)
      return undefined;
    const isDue = !this.#reachable || now - this.#versionAt >= VERSION_EVERY_MS;
    try {
      const reads = await this.#readLease();
      if (isDue || !reads) {
        this.#version = await this.#options.client.serverVersion({ timeoutMs: TIMEOUT_MS });
        this.#versionAt = now;
      }
      this.#id ??= await readClusterId(this.#options);
      this.#askedAt = now;
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /**
   * Reads a Lease, which the API server stores in etcd. A read of the server version would not detect a failed etcd,
   * because a server without etcd still returns its version. The content of the Lease does not matter.
   * @returns false: the account may not read it, for example with the RBAC rules of an older version
   * @throws KubeError when the cluster does not respond
   */
  async #readLease(): Promise<boolean> {
    const { client, ownNamespace } = this.#options;
    if (ownNamespace === undefined) return false;
    try {
      const lease = { namespace: ownNamespace, name: OPERATOR_LEASE };
      await client.find(RESOURCES.Lease, lease, { timeoutMs: TIMEOUT_MS });
      return true;
    } catch (error) {
      if (isKubeError(error, 'forbidden')) return false;
      throw error;
    }
  }

  #note(why: string | undefined): void {
    const reachable = why === undefined;
    if (reachable === this.#reachable) return;
    this.#reachable = reachable;
    if (reachable) this.#options.logger.info({}, 'the cluster responds again');
    else this.#options.logger.warn({ why }, 'the cluster does not respond; the hub shows the status UNKNOWN');
  }
}

/**
 * The id of the cluster; undefined: the account may not read any of the namespaces that identify it.
 * @throws KubeError when the cluster does not respond
 */
export async function readClusterId(
  options: Pick<ClusterProbeOptions, 'client' | 'namespaces'>,
): Promise<string | undefined> {
  const { client, namespaces } = options;
  for (const name of [CLUSTER_NAMESPACE, ...namespaces.toSorted()]) {
    try {
      const found = await client.find(RESOURCES.Namespace, { name }, { timeoutMs: TIMEOUT_MS });
      if (found?.metadata.uid !== undefined) return clusterId(name, found.metadata.uid);
    } catch (error) {
      if (!isKubeError(error, 'forbidden')) throw error;
    }
  }
  return undefined;
}

/** `1.36`, also for distributions that report `36+`. */
export function kubernetesVersion({ major, minor }: { major: string; minor: string }): string {
  return `${major.replace(/\D.*$/, '')}.${minor.replace(/\D.*$/, '')}`;
}

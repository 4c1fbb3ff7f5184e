import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { OPERATOR_LEASE } from '../../../contract/resource/names.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { CLUSTER_NAMESPACE, clusterId } from '../../../domain/deployment/cluster-id.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/client/clock.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { ClusterFacts } from './term.ts';

export interface ClusterProbeOptions {
  client: Pick<KubeClient, 'serverVersion' | 'find'>;
  /** Berth's own namespace, where the operators' Lease is; absent: not known, and the version alone is asked for. */
  ownNamespace?: string | undefined;
  /** Namespaces to work in; empty: all. */
  namespaces: readonly string[];
  /** Why list or watch fails at present; undefined: they do not. */
  lastError: () => string | undefined;
  /** Namespaces that alone cannot be read at present. */
  unreadable: () => { namespace: string; message: string }[];
  rendering: Omit<RenderConfig, 'kubernetesVersion'>;
  logger: Logger;
  clock: Clock;
}

/** A watch that stands proves little: the API server is asked this often. */
const ASK_EVERY_MS = 20_000;
/** The version changes when the cluster is upgraded, which mostly does not answer for a while then. */
const VERSION_EVERY_MS = 3_600_000;
const TIMEOUT_MS = 4000;
/** As the protocol has it. */
const MAX_MESSAGE = 1024;

/** Knows whether the cluster answers, which one and which version it is. */
export class ClusterProbe {
  readonly #options: ClusterProbeOptions;
  #version: { major: string; minor: string; gitVersion: string } | undefined;
  #id: string | undefined;
  #failing: ReadonlySet<string> = new Set();
  #askedAt = Number.NEGATIVE_INFINITY;
  #versionAt = Number.NEGATIVE_INFINITY;
  #reachable = true;

  constructor(options: ClusterProbeOptions) {
    this.#options = options;
  }

  /** As of the last look. */
  get isReachable(): boolean {
    return this.#reachable;
  }

  /** What the hub is told with the lease. Never fails. */
  async facts(): Promise<ClusterFacts> {
    const why = this.#options.lastError() ?? (await this.#ask());
    this.#note(why);
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

  /** Told with the lease at each renewal: what fails at two in a row is no mere hiccup of a watch. */
  #unreadable(): { namespace: string; message: string }[] {
    const now = this.#options.unreadable();
    const lasting = now.filter(({ namespace }) => this.#failing.has(namespace));
    this.#failing = new Set(now.map(({ namespace }) => namespace));
    return lasting.map(({ namespace, message }) => ({ namespace, message: message.slice(0, MAX_MESSAGE) }));
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
   * A Lease is read from where the cluster keeps everything. Its version is not: that is told while nothing else is. Whether
   * there is one, and who holds it, is of no interest.
   * @returns false: it may not be read, as by the rights of an older version
   * @throws KubeError when the cluster does not answer
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
    if (reachable) this.#options.logger.info({}, 'the cluster answers again');
    else this.#options.logger.warn({ why }, 'the cluster does not answer; the hub shows UNKNOWN');
  }
}

/**
 * Which cluster it is; undefined: the account may read none of the namespaces that tell.
 * @throws KubeError when the cluster does not answer
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

/** `1.36`, also of distributions that say `36+`. */
export function kubernetesVersion({ major, minor }: { major: string; minor: string }): string {
  return `${major.replace(/\D.*$/, '')}.${minor.replace(/\D.*$/, '')}`;
}

import { availableParallelism, totalmem } from 'node:os';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { sleep, systemClock } from '../../../src/cluster/kube/client/clock.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { type Resource, resourcePath } from '../../../src/cluster/kube/client/resources.ts';
import { LeaseLock } from '../../../src/cluster/kube/leader/lease-lock.ts';
import type { Logger } from '../../../src/domain/core/logger.ts';
import { NODE_ADDRESS, NODE_OF_BUILDS } from './interface.ts';

/** The Node object and its heartbeat, as a kubelet maintains them. */

export interface NodeOptions {
  readonly client: KubeClient;
  readonly name: string;
  /** Maximum number of pods at a time. */
  readonly capacity: number;
  /** Port of the log server. */
  readonly port: number;
  readonly logger: Logger;
}

const NODE: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };
const LEASE_NAMESPACE = 'kube-node-lease';
const LEASE_MS = 40_000;
const RENEW_MS = 10_000;
/** Number of renewals of the lease between two writes of the status. */
const STATUS_EVERY = 30;
const CALL_MS = 10_000;

async function createNode({ client, name }: NodeOptions): Promise<void> {
  if ((await client.find<UntypedObject>(NODE, { name })) !== undefined) return;
  const { label, taint } = NODE_OF_BUILDS;
  const labels = { [label]: 'true', 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' };
  await client.request('POST', resourcePath(NODE), {
    body: { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, spec: { taints: [taint] } },
  });
}

function statusOf({ capacity, port }: NodeOptions, isReady: boolean): object {
  const now = new Date().toISOString();
  const condition = (type: string, status: string, reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  const size = {
    pods: String(capacity),
    cpu: String(availableParallelism()),
    memory: `${Math.floor(totalmem() / 1024)}Ki`,
    // The node enforces no limits, so that the request of every build fits.
    'ephemeral-storage': '1Pi',
  };
  const unwatched = (type: string) =>
    condition(type, 'False', 'NotWatched', 'the build node does not measure this');
  return {
    capacity: size,
    allocatable: size,
    addresses: [{ type: 'InternalIP', address: NODE_ADDRESS }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    nodeInfo: {
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      operatingSystem: 'linux',
      kubeletVersion: 'berth-build-node',
      containerRuntimeVersion: 'process://',
      bootID: '',
      kernelVersion: '',
      kubeProxyVersion: '',
      machineID: '',
      osImage: 'processes of this machine; no sandbox',
      systemUUID: '',
    },
    conditions: [
      unwatched('MemoryPressure'),
      unwatched('DiskPressure'),
      unwatched('PIDPressure'),
      isReady
        ? condition('Ready', 'True', 'BuildNodeReady', 'the build node accepts pods')
        : condition('Ready', 'False', 'BuildNodeStopped', 'the build node was stopped'),
    ],
  };
}

export class NodeRegistration {
  readonly #options: NodeOptions;
  readonly #lease: LeaseLock;
  readonly #stopping = new AbortController();
  #heartbeat: Promise<void> | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.#lease = new LeaseLock({
      client: options.client,
      lease: { namespace: LEASE_NAMESPACE, name: options.name },
      identity: options.name,
      leaseDurationMs: LEASE_MS,
      clock: systemClock,
    });
  }

  /** Creates the Node, reports that it is ready, and starts the heartbeat. @throws KubeError */
  async start(): Promise<void> {
    await createNode(this.#options);
    await this.#lease.acquireOrRenew(CALL_MS);
    await this.#report(true);
    this.#heartbeat = this.#beat(this.#stopping.signal);
  }

  /** Reports that the node accepts no more pods. The Node stays, because pods may still be bound to it. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#heartbeat;
    await this.#report(false).catch((error) =>
      this.#options.logger.warn({ error: String(error) }, 'failed to report that the node is stopped'),
    );
  }

  async #report(isReady: boolean): Promise<void> {
    const { client, name } = this.#options;
    const status = statusOf(this.#options, isReady);
    await client.patch(NODE, { name }, { status }, { subresource: 'status', timeoutMs: CALL_MS });
  }

  async #beat(signal: AbortSignal): Promise<void> {
    for (let beats = 1; !signal.aborted; beats += 1) {
      await sleep(systemClock, RENEW_MS, signal);
      if (signal.aborted) return;
      try {
        await this.#lease.acquireOrRenew(CALL_MS);
        if (beats % STATUS_EVERY === 0) {
          await createNode(this.#options);
          await this.#report(true);
        }
      } catch (error) {
        this.#options.logger.warn(
          { error: String(error) },
          'failed to renew the lease of the node; trying again',
        );
      }
    }
  }
}

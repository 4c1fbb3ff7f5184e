import { availableParallelism, totalmem } from 'node:os';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { sleep, systemClock } from '../../../src/cluster/kube/client/clock.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { LeaseLock } from '../../../src/cluster/kube/leader/lease-lock.ts';
import type { Logger } from '../../../src/domain/core/logger.ts';

import { NODE_OF_BUILDS } from './interface.ts';

/** The Node object of the local builder, and its heartbeat: as a kubelet keeps them. */

export interface NodeOptions {
  readonly client: KubeClient;
  readonly name: string;
  /** Pods at a time. */
  readonly capacity: number;
  readonly address: string;
  /** Of the server of logs. */
  readonly port: number;
  readonly version: string;
  readonly logger: Logger;
}

const LEASE_NAMESPACE = 'kube-node-lease';
const LEASE_MS = 40_000;
const RENEW_MS = 10_000;
/** The status is told again with every so many renewals of the lease. */
const STATUS_EVERY = 30;
const CALL_MS = 10_000;

/** @throws Error when a node of this name is not ours */
async function makeNode({ client, name }: NodeOptions): Promise<void> {
  const { label, taint } = NODE_OF_BUILDS;
  const found = await client.find<UntypedObject>(RESOURCES.Node, { name });
  if (found !== undefined && found.metadata.labels?.[label] !== 'true') {
    throw new Error(
      `failed to register the node ${name}: there is one that is no local builder; next: set BERTH_BUILDER_NODE to another name`,
    );
  }
  if (found !== undefined) return;
  await client.create({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { [label]: 'true', 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' },
    },
    spec: { taints: [taint] },
  } as UntypedObject);
}

function statusOf({ capacity, address, port, version }: NodeOptions, isReady: boolean): object {
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
    // No quantity is enforced here, so none is promised: every build's claim fits.
    'ephemeral-storage': '1Pi',
  };
  const fine = (type: string) =>
    condition(type, 'False', 'NotWatched', 'the local builder does not watch this');
  return {
    capacity: size,
    allocatable: size,
    addresses: [{ type: 'InternalIP', address }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    nodeInfo: {
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      operatingSystem: 'linux',
      kubeletVersion: `berth-builder-${version}`,
      containerRuntimeVersion: 'process://',
      bootID: '',
      kernelVersion: '',
      kubeProxyVersion: '',
      machineID: '',
      osImage: 'processes of this machine; no sandbox',
      systemUUID: '',
    },
    conditions: [
      fine('MemoryPressure'),
      fine('DiskPressure'),
      fine('PIDPressure'),
      isReady
        ? condition('Ready', 'True', 'BuilderReady', 'the local builder takes builds')
        : condition('Ready', 'False', 'BuilderStopped', 'the local builder was stopped'),
    ],
  };
}

export class NodeRegistration {
  readonly #options: NodeOptions;
  readonly #lease: LeaseLock;
  readonly #stopping = new AbortController();
  #beating: Promise<void> | undefined;

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

  /** Makes the Node, tells that it is ready, and goes on telling. @throws KubeError, Error */
  async start(): Promise<void> {
    await makeNode(this.#options);
    await this.#lease.acquireOrRenew(CALL_MS);
    await this.#tell(true);
    this.#beating = this.#beat(this.#stopping.signal);
  }

  /** Tells that no more builds are taken. The Node stays: pods may still be bound to it. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#beating;
    await this.#tell(false).catch((error) =>
      this.#options.logger.warn({ error: String(error) }, 'failed to tell that the node is stopped'),
    );
  }

  async #tell(isReady: boolean): Promise<void> {
    const { client, name } = this.#options;
    const status = statusOf(this.#options, isReady);
    await client.patchStatus(RESOURCES.Node, { name }, { status }, { timeoutMs: CALL_MS });
  }

  async #beat(signal: AbortSignal): Promise<void> {
    for (let beats = 1; !signal.aborted; beats += 1) {
      await sleep(systemClock, RENEW_MS, signal);
      if (signal.aborted) return;
      try {
        await this.#lease.acquireOrRenew(CALL_MS);
        if (beats % STATUS_EVERY === 0) {
          await makeNode(this.#options);
          await this.#tell(true);
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

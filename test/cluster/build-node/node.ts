import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import type { Logger } from '../../../src/domain/core/logger.ts';
import { type LogServerOptions, serveLogs } from './log-server.ts';
import { NodeRegistration } from './node-registration.ts';
import { PodManager } from './pod-manager.ts';

/**
 * The local builder (docs/decisions/0027): a node for build Jobs alone, whose containers are processes of this machine. It
 * is no sandbox.
 */

export interface BuildNodeOptions {
  readonly client: KubeClient;
  /** Name of its Node. */
  readonly node: string;
  /** Of builds; pods elsewhere are not looked at. */
  readonly namespace: string;
  /** Pods at a time. */
  readonly capacity: number;
  /** null: one in the temporary folder. */
  readonly folder: string | null;
  /** Address of the server of logs. */
  readonly host: string;
  readonly port: number;
  readonly clientCaFile: string | null;
  readonly own: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly version: string;
  readonly logger: Logger;
}

export interface BuildNode {
  readonly running: number;
  stop(): Promise<void>;
}

const LOOPBACK = /^(127\.|::1$)/;

/** @throws Error that names the setting */
function checkAddress(host: string, clientCaFile: string | null): void {
  if (isIP(host) === 0) {
    throw new Error(
      'failed to start the local builder: BERTH_BUILDER_HOST is no address; next: set it to one, such as 127.0.0.1',
    );
  }
  if (clientCaFile === null && !LOOPBACK.test(host)) {
    throw new Error(
      'failed to start the local builder: whoever reaches BERTH_BUILDER_HOST could read the logs of builds; next: set BERTH_BUILDER_CLIENT_CA, or take an address on loopback',
    );
  }
}

/**
 * Secrets of builds are written below it: it must be ours, and for nobody else. The temporary folder is open to all, and
 * anybody may have made one of that name before us.
 * @throws Error that says whose it is
 */
export function makeOwnFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = lstatSync(folder);
  const next = 'next: set BERTH_BUILDER_FOLDER to a folder of its user alone';
  if (!found.isDirectory() || found.uid !== process.getuid?.()) {
    throw new Error(`failed to start the local builder: ${folder} is not a folder of this user; ${next}`);
  }
  if ((found.mode & 0o077) !== 0) {
    throw new Error(
      `failed to start the local builder: others may enter ${folder}; next: chmod 700 it, or set BERTH_BUILDER_FOLDER to a folder of its user alone`,
    );
  }
}

/** One process a folder: two would end each other's builds. @throws Error when another one runs */
function takeFolder(folder: string): () => void {
  makeOwnFolder(folder);
  const path = join(folder, 'builder.pid');
  const pid = existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
  if (pid > 0 && pid !== process.pid && isBuilder(pid)) {
    throw new Error(
      `failed to start the local builder: process ${pid} uses ${folder}; next: end it, or set BERTH_BUILDER_NODE and BERTH_BUILDER_FOLDER`,
    );
  }
  writeFileSync(path, String(process.pid));
  return () => rmSync(path, { force: true });
}

/** Whether a process is a builder still, and not another one that got its number. */
function isBuilder(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const path = `/proc/${pid}/cmdline`;
  return (
    !existsSync('/proc/self/cmdline') || (existsSync(path) && readFileSync(path, 'utf8').includes('builder'))
  );
}

/**
 * Registers the node, and runs the pods that are bound to it.
 * @throws Error, KubeError
 */
export async function startBuildNode(options: BuildNodeOptions, signal: AbortSignal): Promise<BuildNode> {
  const { node, host, port, clientCaFile } = options;
  checkAddress(host, clientCaFile);
  const folder = options.folder ?? join(tmpdir(), node);
  const release = takeFolder(folder);
  const pods = new PodManager({ ...options, folder, hostIP: host });
  const log: LogServerOptions['log'] = (namespace, pod, container, previous) => {
    // Nothing is started again here.
    if (previous) throw new Error(`previous terminated container "${container}" in pod "${pod}" not found`);
    return pods.log(namespace, pod, container);
  };
  const logs = await serveLogs({ host, port, clientCaFile, log });
  const registration = new NodeRegistration({ ...options, name: node, address: host, port: logs.port });
  const stop = async () => {
    await registration.stop();
    await pods.stop();
    await logs.stop();
    release();
  };
  try {
    // First the pods of before, which are lost: none may be bound to a node that has not said so.
    await pods.start(signal);
    await registration.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    get running() {
      return pods.running;
    },
    stop,
  };
}

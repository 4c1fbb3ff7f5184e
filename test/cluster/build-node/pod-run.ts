import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { sleep, systemClock } from '../../../src/cluster/kube/client/clock.ts';
import type { Logger } from '../../../src/domain/core/logger.ts';
import { commandOf, environmentOf } from './arguments.ts';
import { ContainerLog } from './container-log.ts';
import { podStatus } from './pod-status.ts';
import type { Container, ContainerState, Pod, Terminated } from './pod-types.ts';
import { type Ended, ProcessGroup } from './process-group.ts';
import { StatusWriter } from './status-writer.ts';
import { createVolumes, realPathsOf, unsupported } from './volumes.ts';

/** One pod on this node: runs its containers as processes and writes its status. */

export interface PodRunOptions {
  readonly client: Pick<KubeClient, 'find' | 'patch'>;
  readonly pod: Pod;
  /** Folder of this pod. */
  readonly folder: string;
  /** What a container without a command runs. */
  readonly berth: readonly string[];
  /** Variables that an image would set. Those of the container override them. */
  readonly environment: Readonly<Record<string, string>>;
  readonly logger: Logger;
  /** Aborted when the node stops. No status is written after that. */
  readonly stopping: AbortSignal;
}

const TERMINATION_LOG = '/dev/termination-log';
const MAX_MESSAGE_BYTES = 4096;
const VOLUME_RETRY_MS = 1_000;

export class PodRun {
  readonly #options: PodRunOptions;
  readonly #status: StatusWriter;
  readonly #states = new Map<string, ContainerState>();
  readonly #logs = new Map<string, ContainerLog>();
  readonly #conditions = new Map<string, { holds: boolean; at: string }>();
  readonly #ending = new AbortController();
  readonly #startTime = now();
  #groups: ProcessGroup[] = [];
  #failure: { reason: string; message: string } | undefined;
  #run: Promise<void> | undefined;

  constructor(options: PodRunOptions) {
    this.#options = options;
    const { client, pod, logger, stopping } = options;
    this.#status = new StatusWriter(client, pod, logger, stopping);
  }

  /** Runs the pod. Resolves when it has ended and its final status is written. Never rejects. */
  run(): Promise<void> {
    this.#run ??= this.#all().finally(() => this.#status.settled());
    return this.#run;
  }

  /** Ends the pod: SIGTERM, and SIGKILL after the grace period. Resolves when all its processes have ended. */
  async end(graceSeconds: number, failure?: { reason: string; message: string }): Promise<void> {
    this.#failure ??= failure;
    this.#ending.abort();
    for (const group of this.#groups) group.kill(graceSeconds > 0 ? 'SIGTERM' : 'SIGKILL');
    const kill = setTimeout(() => {
      for (const group of this.#groups) group.kill('SIGKILL');
    }, graceSeconds * 1000);
    await this.#run;
    clearTimeout(kill);
  }

  /** The log of a container. undefined: the container has not started. */
  log(container: string): ContainerLog | undefined {
    return this.#logs.get(container);
  }

  async #all(): Promise<void> {
    try {
      await this.#steps();
    } catch (error) {
      this.#failure ??= { reason: 'NodeLost', message: String(error) };
      this.#options.logger.error({ err: error, pod: this.#options.pod.metadata.name }, 'failed to run a pod');
    }
    this.#report();
  }

  async #steps(): Promise<void> {
    const { pod } = this.#options;
    const feature = unsupported(pod);
    if (feature !== null) {
      this.#failure = {
        reason: 'UnexpectedAdmissionError',
        message: `the build node does not support ${feature}`,
      };
      return;
    }
    this.#report();
    if (!(await this.#volumes())) return;
    for (const container of pod.spec.initContainers ?? []) {
      if (!(await this.#container(container))) return;
    }
    await Promise.all(pod.spec.containers.map((container) => this.#container(container)));
  }

  /** Creates the volumes. Waits for missing Secrets, like a kubelet. false: the pod was ended meanwhile. */
  async #volumes(): Promise<boolean> {
    const { client, pod, folder, logger } = this.#options;
    const { signal } = this.#ending;
    let reported: string | undefined;
    while (!signal.aborted) {
      try {
        await createVolumes(client, pod, this.#path('volumes'));
        for (const name of ['logs', 'termination', 'pids', 'home'])
          mkdirSync(join(folder, name), { recursive: true });
        return true;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (message !== reported) {
          logger.warn(
            { pod: pod.metadata.name, error: message },
            'failed to create the volumes of a pod; waiting',
          );
          const [first] = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
          this.#set(first?.name ?? '', { waiting: { reason: 'ContainerCreating', message } });
        }
        reported = message;
        await sleep(systemClock, VOLUME_RETRY_MS, signal);
      }
    }
    return false;
  }

  /** Returns whether the exit code was 0. */
  async #container(container: Container): Promise<boolean> {
    if (this.#ending.signal.aborted) return false;
    const { name } = container;
    const log = new ContainerLog(this.#path('logs', name));
    this.#logs.set(name, log);
    const startedAt = now();
    const group = this.#start(container, log);
    this.#groups.push(group);
    this.#set(name, { running: { startedAt } });
    const ended = await group.ended;
    this.#groups = this.#groups.filter((other) => other !== group);
    log.end();
    this.#set(name, { terminated: this.#terminated(container, log, ended, startedAt) });
    return ended.exitCode === 0;
  }

  #start(container: Container, log: ContainerLog): ProcessGroup {
    const { berth, environment } = this.#options;
    const { name, env = [], terminationMessagePath = TERMINATION_LOG } = container;
    const termination = this.#path('termination', name);
    writeFileSync(termination, '');
    const real = realPathsOf(container, this.#path('volumes'));
    const home = real.get('/tmp') ?? this.#path('home');
    real.set(terminationMessagePath, termination);
    const variables = environmentOf(env, real);
    return new ProcessGroup({
      command: commandOf(container, berth, variables, real),
      env: { HOME: home, TMPDIR: home, ...environment, BERTH_TERMINATION_LOG: termination, ...variables },
      cwd: this.#path('home'),
      pidFile: this.#path('pids', name),
      onOutput: (chunk) => log.write(chunk),
    });
  }

  #terminated(container: Container, log: ContainerLog, ended: Ended, startedAt: string): Terminated {
    const { exitCode, signal, startError } = ended;
    const message = startError ?? this.#message(container, log, exitCode);
    return {
      exitCode,
      ...(signal === undefined ? {} : { signal }),
      reason: startError === undefined ? (exitCode === 0 ? 'Completed' : 'Error') : 'StartError',
      ...(message === '' ? {} : { message }),
      startedAt,
      finishedAt: now(),
    };
  }

  #message({ name, terminationMessagePolicy }: Container, log: ContainerLog, exitCode: number): string {
    const path = this.#path('termination', name);
    const written = existsSync(path)
      ? readFileSync(path).subarray(0, MAX_MESSAGE_BYTES).toString('utf8')
      : '';
    if (written !== '') return written;
    return terminationMessagePolicy === 'FallbackToLogsOnError' && exitCode !== 0 ? log.lastLines() : '';
  }

  #since(type: string, holds: boolean): string {
    const known = this.#conditions.get(type);
    if (known?.holds === holds) return known.at;
    const at = now();
    this.#conditions.set(type, { holds, at });
    return at;
  }

  #path(...names: string[]): string {
    return join(this.#options.folder, ...names);
  }

  #set(container: string, state: ContainerState): void {
    this.#states.set(container, state);
    this.#report();
  }

  #report(): void {
    const { pod } = this.#options;
    this.#status.set(
      podStatus({
        pod,
        states: this.#states,
        startTime: this.#startTime,
        failure: this.#failure,
        since: (type, holds) => this.#since(type, holds),
      }),
    );
  }
}

/** The current time. Times of Kubernetes have no fractions of seconds. */
export function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}

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
import { makeVolumes, placesOf, unsupported } from './volumes.ts';

/** One pod on this node: its containers as processes, one after another, and its status. */

export interface PodRunOptions {
  readonly client: Pick<KubeClient, 'find' | 'patchStatus'>;
  readonly pod: Pod;
  /** Of this pod alone. */
  readonly folder: string;
  readonly hostIP: string;
  /** What a container without a command runs: Berth. */
  readonly own: readonly string[];
  /** Variables below those of the container: what an image would bring. */
  readonly environment: Readonly<Record<string, string>>;
  readonly logger: Logger;
  /** Fires when the node goes away: nothing more is written. */
  readonly stopping: AbortSignal;
}

const TERMINATION_LOG = '/dev/termination-log';
const MOST_MESSAGE_BYTES = 4096;
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

  /** Begins; resolves when the pod has ended and its last status is written. Never rejects. */
  run(): Promise<void> {
    this.#run ??= this.#all().finally(() => this.#status.settled());
    return this.#run;
  }

  /** Ends it: SIGTERM, and after so many seconds SIGKILL. Resolves when nothing of it runs. */
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

  /** What a container printed; undefined: it has not begun. */
  log(container: string): ContainerLog | undefined {
    return this.#logs.get(container);
  }

  async #all(): Promise<void> {
    try {
      await this.#steps();
    } catch (error) {
      this.#failure ??= { reason: 'BuilderError', message: String(error) };
      this.#options.logger.error({ err: error, pod: this.#options.pod.metadata.name }, 'failed to run a pod');
    }
    this.#tell();
  }

  async #steps(): Promise<void> {
    const { pod } = this.#options;
    const no = unsupported(pod);
    if (no !== null) {
      this.#failure = { reason: 'UnsupportedPod', message: `the local builder runs no pod with ${no}` };
      return;
    }
    this.#tell();
    if (!(await this.#volumes())) return;
    for (const container of pod.spec.initContainers ?? []) {
      if (!(await this.#container(container))) return;
    }
    await Promise.all(pod.spec.containers.map((container) => this.#container(container)));
  }

  /** As a kubelet waits for a Secret, so do we. False: the pod was ended meanwhile. */
  async #volumes(): Promise<boolean> {
    const { client, pod, folder, logger } = this.#options;
    const { signal } = this.#ending;
    let told: string | undefined;
    while (!signal.aborted) {
      try {
        await makeVolumes(client, pod, this.#path('volumes'));
        for (const name of ['logs', 'termination', 'pids', 'home'])
          mkdirSync(join(folder, name), { recursive: true });
        return true;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (message !== told) {
          logger.warn(
            { pod: pod.metadata.name, error: message },
            'failed to make the volumes of a pod; waiting',
          );
          const [first] = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
          this.#set(first?.name ?? '', { waiting: { reason: 'ContainerCreating', message } });
        }
        told = message;
        await sleep(systemClock, VOLUME_RETRY_MS, signal);
      }
    }
    return false;
  }

  /** Whether it ended well. */
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
    const { own, environment } = this.#options;
    const { name, env = [], terminationMessagePath = TERMINATION_LOG } = container;
    const termination = this.#path('termination', name);
    writeFileSync(termination, '');
    const places = placesOf(container, this.#path('volumes'));
    const home = places.get('/tmp') ?? this.#path('home');
    places.set(terminationMessagePath, termination);
    const given = environmentOf(env, places);
    return new ProcessGroup({
      command: commandOf(container, own, given, places),
      env: { HOME: home, TMPDIR: home, ...environment, BERTH_TERMINATION_LOG: termination, ...given },
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
      ? readFileSync(path).subarray(0, MOST_MESSAGE_BYTES).toString('utf8')
      : '';
    if (written !== '') return written;
    return terminationMessagePolicy === 'FallbackToLogsOnError' && exitCode !== 0 ? log.lastWords() : '';
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
    this.#tell();
  }

  #tell(): void {
    const { pod, hostIP } = this.#options;
    this.#status.set(
      podStatus({
        pod,
        states: this.#states,
        hostIP,
        startTime: this.#startTime,
        failure: this.#failure,
        since: (type, holds) => this.#since(type, holds),
      }),
    );
  }
}

/** Kubernetes' times have no fractions of seconds. */
export function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Reflector } from '../../../../src/cluster/kube/cache/reflector.ts';
import { createKubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { KubeClient, KubeClientOptions } from '../../../../src/cluster/kube/client/client-types.ts';
import type { Clock } from '../../../../src/cluster/kube/client/clock.ts';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import type { Logger } from '../../../../src/domain/core/logger.ts';
import { untilPasses } from '../../until-passes.ts';
import { FakeApiServer } from './fake-api-server.ts';

export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error';
  fields: object;
  message: string;
}

/** A logger that records its lines. */
export function recordingLogger(): Logger & { lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at = (level: LogLine['level']) => (fields: object, message: string) =>
    void lines.push({ level, fields, message });
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/**
 * Starts a reflector that is stopped after the test.
 * @returns the calls of its handlers: `+name`, `~name`, `-name`
 */
export function followed(reflector: Reflector<UntypedObject>): string[] {
  const calls: string[] = [];
  reflector.addHandlers({
    added: ({ metadata }) => calls.push(`+${metadata.name}`),
    updated: ({ metadata }) => calls.push(`~${metadata.name}`),
    deleted: ({ metadata }) => calls.push(`-${metadata.name}`),
  });
  reflector.start();
  onTestFinished(() => reflector.stop());
  return calls;
}

/** Resolves when a reflector has its list and its watch. */
export async function watching(at: {
  server: FakeApiServer;
  reflector: Reflector<UntypedObject>;
}): Promise<void> {
  await at.reflector.waitForSync();
  await untilPasses(() => expect(at.server.openWatches).toBe(1));
}

/** A folder that is removed after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'berth-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A client of a server at this URL, by way of a kubeconfig file. */
export async function clientFor(url: string, options: Partial<KubeClientOptions> = {}): Promise<KubeClient> {
  const kubeconfigPath = path.join(await temporaryFolder(), 'config');
  await writeFile(
    kubeconfigPath,
    JSON.stringify({
      'current-context': 'test',
      clusters: [{ name: 'fake', cluster: { server: url } }],
      users: [{ name: 'me', user: { token: 'a-token' } }],
      contexts: [{ name: 'test', context: { cluster: 'fake', user: 'me' } }],
    }),
  );
  const client = await createKubeClient({
    kubeconfigPath,
    userAgent: 'berth-test',
    requestTimeoutMs: 5_000,
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

/** A running fake server and its client, both closed after the test. */
export async function fakeServer(
  options: Partial<KubeClientOptions> = {},
): Promise<{ server: FakeApiServer; client: KubeClient }> {
  const server = new FakeApiServer();
  await server.start();
  onTestFinished(() => server.stop());
  return { server, client: await clientFor(server.url, options) };
}

/** A clock that only the test advances. */
export class FakeClock implements Clock {
  #now = 0;
  #start = Date.parse('2030-01-01T00:00:00Z');
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  now(): number {
    return this.#now;
  }

  date(): Date {
    return new Date(this.#start + this.#now);
  }

  /** Moves only the wall clock, as after a suspension of the machine or a change of the clock. */
  jump(ms: number): void {
    this.#start += ms;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get timers(): number {
    return this.#timers.size;
  }

  /** Advances the time and runs due callbacks in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.callback();
    }
    this.#now = end;
  }
}

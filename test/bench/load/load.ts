/** Generates load in a separate process: a fixed number of requests over a fixed number of connections. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Placeholder in a body for the name, which differs in each request. */
export const NAME = '{{name}}';

/** A fixed number of requests. */
export interface LoadJob {
  /** Base URL. */
  readonly url: string;
  readonly method: 'GET' | 'POST';
  /** Used in turn. */
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. null: no body. */
  readonly body: string | null;
  readonly namePrefix: string;
  readonly requests: number;
  /** Number of connections. Each sends one request after the other. */
  readonly connections: number;
  /** Expected status of every response. Another status ends the measurement. */
  readonly expected: number;
}

export interface LoadResult {
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A running load process. */
export interface Load {
  /** Runs one job at a time. @throws Error after an unexpected response */
  run(job: LoadJob): Promise<LoadResult>;
  stop(): Promise<void>;
}

const WORKER = fileURLToPath(new URL('load-worker.ts', import.meta.url));

type Message = { result: LoadResult } | { error: string };

function nextMessage(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('failed to make the load: the process has ended'));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message as Message);
    });
  });
}

/** Starts the load process. */
export function startLoad(): Load {
  const child = fork(WORKER, { execPath: process.execPath, execArgv: [] });
  return {
    async run(job) {
      const pending = nextMessage(child);
      child.send(job);
      const message = await pending;
      if ('error' in message) throw new Error(message.error);
      return message.result;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.disconnect();
      await gone;
    },
  };
}

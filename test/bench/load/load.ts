/** Load from a process of its own: a fixed number of requests over a fixed number of connections. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Stands in a body where each request has a name of its own. */
export const NAME = '{{name}}';

export interface LoadJob {
  /** Base URL. */
  readonly url: string;
  readonly method: 'GET' | 'POST';
  /** Taken in turn. */
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; null: none. */
  readonly body: string | null;
  readonly namePrefix: string;
  readonly requests: number;
  /** Each sends one request after the other. */
  readonly connections: number;
  /** Status of every answer; another one ends the measure. */
  readonly expected: number;
}

export interface LoadResult {
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Load {
  /** One job at a time. @throws Error when an answer was not as expected */
  run(job: LoadJob): Promise<LoadResult>;
  stop(): Promise<void>;
}

const WORKER = fileURLToPath(new URL('load-worker.ts', import.meta.url));

type Told = { result: LoadResult } | { error: string };

function nextMessage(child: ChildProcess): Promise<Told> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('failed to make the load: its process has ended'));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message as Told);
    });
  });
}

export function startLoad(): Load {
  const child = fork(WORKER, { execPath: process.execPath, execArgv: [] });
  return {
    async run(job) {
      const told = nextMessage(child);
      child.send(job);
      const message = await told;
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

/** Many readers of a stream of changes, in this process. They search for an id and parse nothing, so that they cost little. */
import { Agent, get, type IncomingMessage } from 'node:http';

const TIMEOUT_MS = 30_000;

export interface WatchReaders {
  /** The times at which each reader gets a line with this id. @throws Error if one gets none */
  next(id: string): Promise<number[]>;
  close(): void;
}

function open(url: string, key: string, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { 'x-api-key': key } }, (response) => {
      if (response.statusCode === 200) resolve(response);
      else reject(new Error(`failed to open a stream: HTTP ${response.statusCode}`));
    }).on('error', reject);
  });
}

/** Opens the readers, a few at a time. */
export async function openReaders(url: string, key: string, count: number): Promise<WatchReaders> {
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  const streams: IncomingMessage[] = [];
  while (streams.length < count) {
    const some = Math.min(50, count - streams.length);
    streams.push(...(await Promise.all(Array.from({ length: some }, () => open(url, key, agent)))));
  }
  let seen = (_chunk: string): void => undefined;
  for (const stream of streams) stream.setEncoding('utf8').on('data', (chunk: string) => seen(chunk));
  return {
    next: (id) =>
      new Promise((resolve, reject) => {
        const times: number[] = [];
        const timer = setTimeout(
          () => reject(new Error(`failed to measure: ${times.length} of ${count} readers got the change`)),
          TIMEOUT_MS,
        );
        seen = (chunk) => {
          if (!chunk.includes(id)) return;
          times.push(performance.now());
          if (times.length < count) return;
          clearTimeout(timer);
          resolve(times);
        };
      }),
    close() {
      for (const stream of streams) stream.destroy();
      agent.destroy();
    },
  };
}

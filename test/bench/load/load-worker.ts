/** The process that generates load. load.ts starts it. */
import { quantile } from '../statistics.ts';
import { HttpConnection } from './http-connection.ts';
import { type LoadJob, type LoadResult, NAME } from './load.ts';

const MS = 1000;

function requestBytes(job: LoadJob, path: string, body: string | null): Buffer {
  const lines = [`${job.method} ${path} HTTP/1.1`, `host: ${new URL(job.url).host}`];
  for (const [name, value] of Object.entries(job.headers)) lines.push(`${name}: ${value}`);
  if (body !== null)
    lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
}

/** The bytes of each request: each body has its own name, and paths are used in turn. */
function requestMaker(job: LoadJob): (index: number) => Buffer {
  const { body, paths, namePrefix } = job;
  if (body === null) {
    const made = paths.map((path) => requestBytes(job, path, null));
    return (index) => made[index % made.length] as Buffer;
  }
  return (index) =>
    requestBytes(job, paths[index % paths.length] as string, body.replaceAll(NAME, `${namePrefix}${index}`));
}

async function run(job: LoadJob): Promise<LoadResult> {
  const request = requestMaker(job);
  const latencies: number[] = [];
  const url = new URL(job.url);
  let next = 0;
  const client = async () => {
    const connection = new HttpConnection(url);
    try {
      for (let index = next++; index < job.requests; index = next++) {
        const bytes = request(index);
        const began = performance.now();
        const { status, body } = await connection.send(bytes);
        latencies.push(performance.now() - began);
        if (status !== job.expected)
          throw new Error(
            `failed to make the load: ${job.method} got the status ${status}: ${body.toString()}`,
          );
      }
    } finally {
      connection.close();
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: job.connections }, client));
  const seconds = (performance.now() - began) / MS;
  const sorted = latencies.toSorted((a, b) => a - b);
  return { seconds, p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) };
}

process.on('message', (job: LoadJob) => {
  run(job).then(
    (result) => process.send?.({ result }),
    (error: Error) => process.send?.({ error: error.message }),
  );
});
// The parent process has ended.
process.on('disconnect', () => process.exit());

/** The work of `machine-speed.ts`, in a thread and so with a heap of its own: none of the bench's garbage is in its time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';

const EVERY_MS = 500;
const US = 1000;
/** What Berth does most of: objects from text, and text from objects. A millisecond or two. */
const TEXT = JSON.stringify(
  Array.from({ length: 400 }, (_, index) => ({
    kind: 'Service',
    metadata: { name: `probe-${index}`, labels: { 'app.kubernetes.io/name': `app-${index % 7}` } },
    spec: { ports: [{ name: 'http', port: 8000 + index }], selector: { component: 'api' } },
  })),
);
const work = () => JSON.stringify(JSON.parse(TEXT)).length;

// Compiled before the first that counts.
for (let round = 0; round < 200; round += 1) work();
for (let done = 0; ; done += 1) {
  await sleep(EVERY_MS);
  // Of the thread since its start. What it took until it slept Linux knows exactly, of what runs now only to a tick.
  const { user, system } = process.threadCpuUsage();
  parentPort?.postMessage({ done, ms: (user + system) / US });
  work();
}

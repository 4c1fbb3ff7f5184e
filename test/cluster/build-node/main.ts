/**
 * The program of the simulated node for build Jobs. `test/installation/build-node.ts` starts it.
 *
 *   node main.ts OPTIONS    OPTIONS: BuildNodeOptions as JSON
 *
 * The containers of its pods are processes of this machine (docs/decisions/0027). It is not a sandbox.
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createLogger } from '../../../src/app/logging.ts';
import { createKubeClient } from '../../../src/cluster/kube/client/client.ts';
import { type BuildNodeOptions, READY } from './interface.ts';
import { serveLogs } from './log-server.ts';
import { NodeRegistration } from './node-registration.ts';
import { PodManager } from './pod-manager.ts';

const CAPACITY = 2;
const REQUEST_TIMEOUT_MS = 15_000;
/** What a container without a command runs, as in the image of Berth. */
const BERTH = [process.execPath, fileURLToPath(new URL('../../../src/main.ts', import.meta.url))];

async function run(options: BuildNodeOptions): Promise<void> {
  const logger = createLogger('info');
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  // Secrets of builds are written below it.
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const client = await createKubeClient({
    kubeconfigPath: options.kubeconfig,
    userAgent: 'berth-build-node',
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
  });
  const pods = new PodManager({ ...options, client, berth: BERTH, logger });
  const logs = await serveLogs((namespace, pod, container, previous) => {
    // This node restarts no container.
    if (previous) throw new Error(`previous terminated container "${container}" in pod "${pod}" not found`);
    return pods.log(namespace, pod, container);
  });
  const registration = new NodeRegistration({
    client,
    name: options.node,
    capacity: CAPACITY,
    port: logs.port,
    logger,
  });
  // The pods of the previous process first: their statuses must say that they are lost before the node takes new pods.
  await pods.start(new AbortController().signal);
  await registration.start();
  logger.info({ node: options.node }, READY);
  await stopped;
  await registration.stop();
  await pods.stop();
  await logs.stop();
  await client.close();
}

await run(JSON.parse(process.argv[2] ?? '{}') as BuildNodeOptions);

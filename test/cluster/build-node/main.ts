/**
 * The program of the simulated node for build Jobs. `test/installation/build-node.ts` starts it.
 *
 *   node main.ts OPTIONS    OPTIONS: BuildNodeOptions as JSON
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createLogger } from '../../../src/app/logging.ts';
import { createKubeClient } from '../../../src/cluster/kube/client/client.ts';
import { type BuildNodeOptions, READY } from './interface.ts';
import { startBuildNode } from './node.ts';

const REQUEST_TIMEOUT_MS = 15_000;
/** What a container without a command runs, as in the image of Berth. */
const BERTH = [process.execPath, fileURLToPath(new URL('../../../src/main.ts', import.meta.url))];

async function run(options: BuildNodeOptions): Promise<void> {
  const logger = createLogger('info');
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const client = await createKubeClient({
    kubeconfigPath: options.kubeconfig,
    userAgent: 'berth-build-node',
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
  });
  const node = await startBuildNode(
    {
      ...options,
      client,
      capacity: 2,
      host: '127.0.0.1',
      port: 0,
      clientCaFile: null,
      own: BERTH,
      version: 'test',
      logger,
    },
    new AbortController().signal,
  );
  logger.info({ node: options.node }, READY);
  await stopped;
  await node.stop();
  await client.close();
}

await run(JSON.parse(process.argv[2] ?? '{}') as BuildNodeOptions);

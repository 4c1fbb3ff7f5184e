/** The whole API, a listener with the rights of its account, and a node with logs: how lines come from pods to readers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createKubeClient } from '../../../src/cluster/kube/client/client.ts';
import { runListener } from '../../../src/cluster/listener/listener.ts';
import { createHubClient, type HubClient } from '../../../src/cluster/listener/session/hub-client.ts';
import { type Inject, inProcessTransport } from '../../../src/cluster/listener/session/hub-transport.ts';
import { PLATFORM_LISTENER_ID } from '../../../src/domain/deployment/source.ts';
import type { ApiDeps } from '../../../src/hub/api/core/deps.ts';
import { createWorkHints } from '../../../src/hub/api/listeners/work-hints.ts';
import { listenForWork } from '../../../src/hub/store/core/notifications.ts';
import { hashApiKey } from '../../../src/hub/store/tenancy/api-keys.ts';
import { compileCache } from '../../installation/berth-process.ts';
import { type ApiFixture, type Client, create, type Deployment, startApi } from './api.ts';
import { createBuildNamespace } from './build-namespace.ts';
import { createNamespace, deleteNamespace, environment } from './environment.ts';
import { installedKubeconfigs } from './installed-berth.ts';
import { type LineReader, readLines } from './line-reader.ts';
import { RENDERING } from './listener.ts';
import { type LogNode, startLogNode } from './log-node.ts';

const KEY = 'internal-key-of-this-process';

export interface LogWorld {
  readonly api: ApiFixture;
  readonly owner: Client;
  readonly node: LogNode;
  /** Of deployments, and of builds. */
  readonly namespace: string;
  readonly buildNamespace: string;
  /** Starts a listener; `stop` ends it in order, `kill` at once: its lease runs out. */
  startListener(hub?: (real: HubClient) => HubClient): Promise<{ stop(): Promise<void> }>;
  deploy(more?: Record<string, unknown>): Promise<Deployment>;
  follow(client: Client, path: string): Promise<LineReader>;
  /** Runs `berth` as an owner's client: lines of its standard output. */
  berth(...words: string[]): { readonly lines: string[]; readonly ended: Promise<unknown>; stop(): void };
  stop(): Promise<void>;
}

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/** Starts all but the listener. */
export async function startLogWorld(prefix: string, deps: Partial<ApiDeps> = {}): Promise<LogWorld> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), `berth-${prefix}-`));
  const logHints = createWorkHints();
  const hints = createWorkHints();
  const internalKey = { hash: hashApiKey(KEY), scopes: ['listeners:run'], platform: true } as const;
  const [api, node, namespace, buildNamespace, kubeconfigs] = await Promise.all([
    startApi({ deps: { internalKey, hints, logHints, leaseSeconds: 60, ...deps } }),
    startLogNode(),
    createNamespace(prefix),
    createBuildNamespace(prefix),
    installedKubeconfigs(environment(), folder),
  ]);
  const url = await api.app.listen({ host: '127.0.0.1', port: 0 });
  const notifications = listenForWork({
    url: api.store.url,
    logger: api.store.logger,
    onWork: (ids) => hints.notify(ids),
    onLogs: (ids) => logHints.notify(ids),
    onRescan: () => hints.notifyAll(),
  });
  await notifications.armed;
  const owner = await api.tenant();
  const stops: (() => Promise<void>)[] = [];
  let count = 0;

  return {
    api,
    owner,
    node,
    namespace,
    buildNamespace,
    async startListener(hub = (real) => real) {
      const client = await createKubeClient({
        kubeconfigPath: kubeconfigs.listener,
        userAgent: 'berth-listener-test',
        requestTimeoutMs: 10_000,
      });
      const stopping = new AbortController();
      const acting = Promise.withResolvers<void>();
      count += 1;
      const real = createHubClient({
        transport: inProcessTransport(api.app.inject.bind(api.app) as unknown as Inject, KEY),
        listenerId: PLATFORM_LISTENER_ID,
        logger: api.store.logger,
      });
      const running = runListener(
        {
          hub: hub(real),
          client,
          identity: `test-${count}`,
          version: 'test',
          namespaces: [namespace],
          buildNamespace,
          rendering: RENDERING,
          logger: api.store.logger,
          onActing: (is) => is && acting.resolve(),
        },
        stopping.signal,
      );
      const stop = async () => {
        stopping.abort();
        await running;
        await client.close();
      };
      stops.push(stop);
      await acting.promise;
      return { stop };
    },
    deploy: (more = {}) =>
      create(owner, { source_config: { listener_config: { cluster_namespace: namespace } }, ...more }),
    follow: ({ key }, path) => readLines(url, path, key),
    berth(...words) {
      const env = { ...compileCache(), PATH: process.env['PATH'], BERTH_URL: url, BERTH_API_KEY: owner.key };
      const child = spawn(process.execPath, [MAIN, ...words], { env, stdio: ['ignore', 'pipe', 'inherit'] });
      const lines: string[] = [];
      createInterface(child.stdout).on('line', (line) => lines.push(line));
      return { lines, ended: once(child, 'close'), stop: () => child.kill('SIGINT') };
    },
    async stop() {
      await Promise.all(stops.map((stop) => stop()));
      await notifications.close();
      await api.stop();
      await Promise.all([node.stop(), deleteNamespace(namespace), deleteNamespace(buildNamespace)]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

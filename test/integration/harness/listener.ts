/** A listener on the real API server, with the rights of its ServiceAccount, against a hub in the same process. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createKubeClient,
  type KubeClient,
  type ObservedRequest,
} from '../../../src/cluster/kube/client/client.ts';
import { runListener } from '../../../src/cluster/listener/listener.ts';
import type { ListenerOptions } from '../../../src/cluster/listener/listener-options.ts';
import { createHubClient, type HubClient } from '../../../src/cluster/listener/session/hub-client.ts';
import { type Inject, inProcessTransport } from '../../../src/cluster/listener/session/hub-transport.ts';
import type { RenderConfig } from '../../../src/contract/render/render-config.ts';
import { uuidv7 } from '../../../src/domain/core/id.ts';
import { PLATFORM_LISTENER_ID } from '../../../src/domain/deployment/source.ts';
import type { DeploymentRecord, DesiredChange, NewDeployment } from '../../../src/hub/store/core/records.ts';
import { findDeployment, updateDesiredState } from '../../../src/hub/store/deployments/deployments.ts';
import { waitFor } from '../../cluster/wait.ts';
import { createNamespace, deleteNamespace, environment, kubectlAsAdmin } from './environment.ts';
import { type HubFixture, startHub } from './hub.ts';
import { installedKubeconfigs } from './installed-berth.ts';
import { insert, newTenant } from './store.ts';

export const RENDERING: Omit<RenderConfig, 'kubernetesVersion'> = {
  hosting: 'self_hosted',
  podSecurity: 'baseline',
  databaseImage: 'postgres:18',
  cacheImage: 'valkey:8',
  healthPath: null,
  progressDeadlineSeconds: 600,
  routing: { mode: 'none', className: null, tlsIssuer: null },
  otlpEndpoint: null,
  networkIsolation: false,
  storageClass: null,
};

/** Waits, with a bound that says something is broken. */
export function eventually<T>(what: string, probe: () => Promise<T | undefined>): Promise<T> {
  return waitFor(what, probe, { timeoutMs: 60_000, intervalMs: 50 });
}

/** A custom resource as kubectl prints it. */
export interface Mdep {
  metadata: {
    name: string;
    uid: string;
    resourceVersion: string;
    generation: number;
    labels: Record<string, string>;
    annotations: Record<string, string>;
    deletionTimestamp?: string;
  };
  spec: Record<string, unknown> & {
    generation: number;
    revision: { number: number; image?: string; envSecretName?: string };
  };
  status?: Record<string, unknown>;
}

export interface RunningListener {
  readonly identity: string;
  /** Requests at the API server so far. */
  readonly requests: ObservedRequest[];
  stop(): Promise<void>;
}

export interface ListenerFixture {
  readonly hub: HubFixture;
  readonly namespace: string;
  readonly tenantId: string;
  start(more?: Partial<ListenerOptions>): Promise<RunningListener>;
  deploy(name: string, more?: Partial<NewDeployment>): Promise<DeploymentRecord>;
  change(record: DeploymentRecord, more?: Partial<DesiredChange>): Promise<DeploymentRecord>;
  read(id: string): Promise<DeploymentRecord | null>;
  kubectl(...args: string[]): Promise<string>;
  mdep(name: string): Promise<Mdep | undefined>;
  /** Waits until the custom resource satisfies `check`. */
  until(record: { appName: string }, what: string, check: (mdep: Mdep) => boolean): Promise<Mdep>;
  /** Waits until the hub counts the present generation as applied. */
  acknowledged(id: string): Promise<DeploymentRecord>;
  stop(): Promise<void>;
}

export async function startListenerFixture(
  prefix: string,
  options: { leaseSeconds?: number; registry?: string } = {},
): Promise<ListenerFixture> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), `berth-${prefix}-`));
  const [hub, namespace, kubeconfigs] = await Promise.all([
    startHub(options),
    createNamespace(prefix),
    installedKubeconfigs(environment(), folder),
  ]);
  const { tenantId } = await newTenant(hub.store);
  const listeners: RunningListener[] = [];
  const clients: KubeClient[] = [];

  const hubClient = (): HubClient =>
    createHubClient({
      transport: inProcessTransport(hub.app.inject.bind(hub.app) as unknown as Inject, 'key'),
      listenerId: PLATFORM_LISTENER_ID,
      logger: hub.store.logger,
    });
  const fixture: ListenerFixture = {
    hub,
    namespace,
    tenantId,
    async start(more = {}) {
      const requests: ObservedRequest[] = [];
      const client = await createKubeClient({
        kubeconfigPath: kubeconfigs.listener,
        userAgent: 'berth-listener-test',
        requestTimeoutMs: 10_000,
        observer: (request) => requests.push(request),
      });
      clients.push(client);
      const stopping = new AbortController();
      const acting = Promise.withResolvers<void>();
      const identity = more.identity ?? `test-${uuidv7()}`;
      const running = runListener(
        {
          hub: hubClient(),
          client,
          identity,
          version: 'test',
          namespaces: [namespace],
          rendering: RENDERING,
          logger: hub.store.logger,
          onActing: (is) => is && acting.resolve(),
          ...more,
        },
        stopping.signal,
      );
      const listener = {
        identity,
        requests,
        stop: async () => {
          stopping.abort();
          await running;
        },
      };
      listeners.push(listener);
      if (more.onActing === undefined) await acting.promise;
      return listener;
    },
    deploy: (name, more = {}) => insert(hub.store, tenantId, name, { namespace, ...more }).then(hinted),
    change: (record, more = {}) =>
      hub.store.database
        .forTenant(tenantId)
        .transaction((transaction) =>
          updateDesiredState(transaction, hub.store.box, tenantId, record.id, {
            expectedGeneration: record.generation,
            sourceConfig: record.sourceConfig,
            sourceRevisionConfig: record.sourceRevisionConfig,
            secrets: { kind: 'set', id: record.secrets?.id ?? null },
            imageVersion: null,
            revision: { id: uuidv7(), status: 'QUEUED' },
            actor: { kind: 'system' },
            message: 'changed',
            ...more,
          }),
        )
        .then(hinted),
    read: (id) =>
      hub.store.database.forTenant(tenantId).read((reader) => findDeployment(reader, tenantId, id)),
    kubectl: (...args) => kubectlAsAdmin(['-n', namespace, ...args]),
    async mdep(name) {
      const text = await kubectlAsAdmin([
        '-n',
        namespace,
        'get',
        'mdep',
        name,
        '-o',
        'json',
        '--ignore-not-found',
      ]);
      return text === '' ? undefined : JSON.parse(text);
    },
    until: ({ appName }, what, check) =>
      eventually(`${appName}: ${what}`, async () => {
        const mdep = await fixture.mdep(appName);
        return mdep !== undefined && check(mdep) ? mdep : undefined;
      }),
    acknowledged: (id) =>
      eventually(`${id}: applied`, async () => {
        const record = await fixture.read(id);
        return record !== null && record.acknowledgedGeneration >= record.generation ? record : undefined;
      }),
    async stop() {
      await Promise.all(listeners.map((listener) => listener.stop()));
      await Promise.all(clients.map((client) => client.close()));
      await hub.stop();
      await deleteNamespace(namespace);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  /** As the API's process would: the database's notification becomes a hint. */
  function hinted<T>(value: T): T {
    hub.hints.notifyAll();
    return value;
  }
  return fixture;
}

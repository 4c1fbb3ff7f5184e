import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Reflector } from '../../../../src/cluster/kube/cache/reflector.ts';
import { createKubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { KubeClient, KubeClientOptions } from '../../../../src/cluster/kube/client/client-types.ts';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../../src/cluster/kube/client/resources.ts';
import { LeaderElector } from '../../../../src/cluster/kube/leader/leader-election.ts';
import type { Lease } from '../../../../src/cluster/kube/leader/lease-lock.ts';
import { followed, recordingLogger, temporaryFolder } from '../../../unit/cluster/kube/support.ts';
import { TcpProxy } from '../../../unit/cluster/kube/tcp-proxy.ts';
import { createNamespace, deleteNamespace, environment } from '../../harness/environment.ts';

const PATIENCE = { timeout: 30_000, interval: 20 };
let admin: KubeClient;
let namespace: string;

beforeAll(async () => {
  admin = await createKubeClient(optionsFor(environment().kubeconfigPath));
  namespace = await createNamespace('reflector');
});
afterAll(async () => {
  await admin.close();
  await deleteNamespace(namespace);
});

function optionsFor(kubeconfigPath: string): KubeClientOptions {
  return { kubeconfigPath, userAgent: 'reflector-test', requestTimeoutMs: 20_000 };
}

/** A client that reaches the API server through a proxy which can misbehave. */
async function throughProxy(
  more: Partial<KubeClientOptions> = {},
): Promise<{ proxy: TcpProxy; client: KubeClient }> {
  const config = readFileSync(environment().kubeconfigPath, 'utf8');
  const address = /https:\/\/([^:/"\s]+):(\d+)/.exec(config);
  const [, host = '', port = ''] = address ?? [];
  const proxy = new TcpProxy({ host, port: Number(port) });
  await proxy.start();
  const file = path.join(await temporaryFolder(), 'kubeconfig');
  writeFileSync(file, config.replaceAll(`https://${host}:${port}`, `https://127.0.0.1:${proxy.port}`));
  const client = await createKubeClient({
    ...optionsFor(file),
    pingIntervalMs: 200,
    pingTimeoutMs: 300,
    ...more,
  });
  onTestFinished(async () => {
    await client.close();
    await proxy.stop();
  });
  return { proxy, client };
}

function configMap(name: string, data: object = {}): UntypedObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels: { by: 'test' } }, data };
}

function follow(client: KubeClient): { reflector: Reflector<UntypedObject>; calls: string[] } {
  const reflector = new Reflector<UntypedObject>({
    client,
    resource: RESOURCES.ConfigMap,
    namespace,
    labelSelector: 'by=test',
    logger: recordingLogger(),
  });
  return { reflector, calls: followed(reflector) };
}

describe('a reflector behind a faulty proxy', () => {
  test.each([
    ['HTTP/2, nothing passes', 'auto', (proxy: TcpProxy) => proxy.swallow()],
    ['HTTP/2, connections are cut', 'auto', (proxy: TcpProxy) => proxy.cut()],
    ['HTTP/1.1, connections are cut', 'http1', (proxy: TcpProxy) => proxy.cut()],
  ] as const)('catches up without a list (%s)', async (name, protocol, misbehave) => {
    const { proxy, client } = await throughProxy({ protocol });
    const { reflector, calls } = follow(client);
    await reflector.waitForSync();
    const slug = name.toLowerCase().replace(/[^a-z0-9]+/g, '-');
    await admin.create(configMap(`${slug}-before`));
    await vi.waitFor(() => expect(calls).toContain(`+${slug}-before`), PATIENCE);
    misbehave(proxy);
    await admin.create(configMap(`${slug}-during`));
    await admin.delete(RESOURCES.ConfigMap, { namespace, name: `${slug}-before` });
    await vi.waitFor(() => expect(calls).toContain(`-${slug}-before`), PATIENCE);
    expect(calls).toContain(`+${slug}-during`);
    expect(reflector.stats().lists).toBe(1);
  });

  test('reconnects to a server that was unavailable', async () => {
    const { proxy, client } = await throughProxy();
    const { reflector, calls } = follow(client);
    await reflector.waitForSync();
    await admin.create(configMap('away-before'));
    await vi.waitFor(() => expect(calls).toContain('+away-before'), PATIENCE);
    const { port } = proxy;
    await proxy.stop();
    await vi.waitFor(() => expect(reflector.stats().errors).toBeGreaterThan(2), PATIENCE);
    await expect(client.get(RESOURCES.Namespace, { name: namespace })).rejects.toMatchObject({
      kind: 'network',
    });
    await admin.create(configMap('away-during'));
    await proxy.start(port);
    await vi.waitFor(() => expect(calls).toContain('+away-during'), PATIENCE);
  });
});

describe('own writes', () => {
  test('are in the cache at once, and are reported once', async () => {
    const { reflector, calls } = follow(admin);
    await reflector.waitForSync();
    const written = await admin.create(configMap('mine'));
    reflector.noteWrite(written);
    expect(reflector.isCurrent(`${namespace}/mine`)).toBe(true);
    expect(reflector.store.get(`${namespace}/mine`)?.metadata.resourceVersion).toBe(
      written.metadata.resourceVersion,
    );
    await admin.delete(RESOURCES.ConfigMap, written.metadata, { uid: written.metadata.uid });
    reflector.noteDelete(`${namespace}/mine`, written.metadata.uid ?? '');
    await vi.waitFor(() => expect(reflector.isCurrent(`${namespace}/mine`)).toBe(true), PATIENCE);
    expect(calls.filter((line) => line.endsWith('mine')).slice(-1)).toEqual(['-mine']);
    expect(calls.filter((line) => line === '+mine' || line === '~mine')).toHaveLength(1);
  });
});

describe('leader election', () => {
  test('hands over within the retry period when the leader stops', async () => {
    const lease = { namespace, name: 'lead' };
    const contend = (identity: string) => {
      const stop = new AbortController();
      const elector = new LeaderElector({
        client: admin,
        lease,
        identity,
        logger: recordingLogger(),
        onStartedLeading: () => {},
      });
      const finished = elector.run(stop.signal);
      onTestFinished(async () => {
        stop.abort();
        await finished;
      });
      return { elector, stop, finished };
    };
    const first = contend('first');
    await vi.waitFor(() => expect(first.elector.isLeader()).toBe(true), PATIENCE);
    const second = contend('second');
    first.stop.abort();
    await first.finished;
    await vi.waitFor(() => expect(second.elector.isLeader()).toBe(true), PATIENCE);
    const held = await admin.get<Lease>(RESOURCES.Lease, lease);
    expect(held.spec).toMatchObject({
      holderIdentity: 'second',
      leaseDurationSeconds: 15,
      leaseTransitions: 1,
    });
    expect(held.spec?.renewTime).toMatch(/\.\d{6}Z$/);
  });
});

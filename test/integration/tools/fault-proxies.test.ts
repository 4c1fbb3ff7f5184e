/** The proxy before the API server, each fault as the client and the cache of Berth see it. */
import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import { createKubeClient } from '../../../src/cluster/kube/client/client.ts';
import type { KubeClient, KubeClientOptions } from '../../../src/cluster/kube/client/client-types.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { startKubernetesProxy } from '../../faults/proxies/kubernetes-proxy.ts';
import type { KubernetesProxy, KubernetesRequest } from '../../faults/proxies/kubernetes-traffic.ts';
import { recordingLogger, temporaryFolder } from '../../unit/cluster/kube/support.ts';
import { createNamespace, deleteNamespace, environment } from '../harness/environment.ts';

const PATIENCE = { timeout: 30_000, interval: 20 };
const PROTOCOLS = ['auto', 'http1'] as const;
const { ConfigMap, Namespace } = RESOURCES;
let admin: KubeClient;
let namespace: string;

beforeAll(async () => {
  admin = await createKubeClient(optionsFor(environment().kubeconfigPath));
  namespace = await createNamespace('proxies');
});
afterAll(async () => {
  await admin.close();
  await deleteNamespace(namespace);
});

function optionsFor(kubeconfigPath: string): KubeClientOptions {
  return { kubeconfigPath, userAgent: 'fault-proxies-test', requestTimeoutMs: 20_000 };
}

/** A proxy, and a client of it; nothing of them is left after the test. */
async function through(
  protocol: 'auto' | 'http1' = 'auto',
): Promise<{ proxy: KubernetesProxy; client: KubeClient }> {
  const proxy = await startKubernetesProxy({ folder: await temporaryFolder() });
  const file = await proxy.kubeconfigFor('tester', environment().kubeconfigPath);
  const client = await createKubeClient({ ...optionsFor(file), protocol });
  onTestFinished(async () => {
    await client.close();
    await proxy.stop();
    expect(proxy.connections()).toBe(0);
  });
  return { proxy, client };
}

function configMap(name: string, more: object = {}): UntypedObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, ...more };
}
const find = (name: string) => admin.find(ConfigMap, { namespace, name });
const creates = ({ verb, resource }: KubernetesRequest) => verb === 'create' && resource === 'configmaps';
const watches = ({ verb }: KubernetesRequest) => verb === 'watch';
const lists = ({ verb }: KubernetesRequest) => verb === 'list';

/** A cache of the ConfigMaps that `make` makes. */
async function follow(client: KubeClient, label: string) {
  const reflector = new Reflector<UntypedObject>({
    client,
    resource: ConfigMap,
    namespace,
    labelSelector: `by=${label}`,
    logger: recordingLogger(),
    backoff: { baseMs: 20, capMs: 200 },
  });
  reflector.start();
  onTestFinished(() => reflector.stop());
  await reflector.waitForSync();
  const make = (name: string) =>
    admin.create(configMap('', { metadata: { name: `${label}.${name}`, namespace, labels: { by: label } } }));
  const names = () => reflector.store.list().map(({ metadata }) => metadata.name?.split('.')[1]);
  const sees = (...expected: string[]) =>
    vi.waitFor(() => expect(names().sort()).toEqual(expected), PATIENCE);
  return { reflector, make, names, sees };
}

test.each(PROTOCOLS)('forwards and records requests that match no rule (protocol %s)', async (protocol) => {
  const { proxy, client } = await through(protocol);
  const name = `plain-${protocol}`;
  const at = { namespace, name };
  await client.create(configMap(name));
  await client.apply(configMap(name, { data: { a: 'b' } }), { fieldManager: 'tester' });
  await expect(client.create(configMap(name))).rejects.toMatchObject({ kind: 'already_exists' });
  expect(await client.get(ConfigMap, at)).toMatchObject({ data: { a: 'b' } });
  await client.listAll(ConfigMap, { namespace });
  await client.delete(ConfigMap, at);
  expect(await find(name)).toBeUndefined();
  const seen = proxy.exchanges('tester');
  expect(seen.map((each) => [each.verb, each.resource, each.namespace, each.name, each.status])).toEqual([
    ['create', 'configmaps', namespace, name, 201],
    ['apply', 'configmaps', namespace, name, 200],
    ['create', 'configmaps', namespace, name, 409],
    ['get', 'configmaps', namespace, name, 200],
    ['list', 'configmaps', namespace, '', 200],
    ['delete', 'configmaps', namespace, name, 200],
  ]);
});

test.each(PROTOCOLS)(
  'applies a request with lose, not with refuse, answer and hold (%s)',
  async (protocol) => {
    const { proxy, client } = await through(protocol);
    const name = (fault: string) => `${fault}-${protocol}`;
    const broken = { kind: 'network', retryable: true };
    proxy.add({ match: creates, fault: { kind: 'lose' }, times: 1 });
    await expect(client.create(configMap(name('lose')))).rejects.toMatchObject(broken);
    expect(await find(name('lose'))).toBeDefined();
    proxy.add({ match: creates, fault: { kind: 'refuse' }, times: 1 });
    await expect(client.create(configMap(name('refuse')))).rejects.toMatchObject(broken);
    expect(await find(name('refuse'))).toBeUndefined();
    const answer = { kind: 'answer', status: 429, headers: { 'retry-after': '7' } } as const;
    proxy.add({ match: creates, fault: answer, times: 1 });
    const throttled = { kind: 'too_many_requests', retryAfterMs: 7_000 };
    await expect(client.create(configMap(name('answer')))).rejects.toMatchObject(throttled);
    const held = proxy.add({ match: creates, fault: { kind: 'hold' }, times: 1 });
    const giveUp = new AbortController();
    const creating = client.create(configMap(name('hold')), { signal: giveUp.signal });
    await Promise.all([
      expect(creating).rejects.toMatchObject({ kind: 'aborted' }),
      held.waitTaken().then(() => giveUp.abort()),
    ]);
    const outcomes = () => proxy.exchanges().map(({ status, upstreamStatus }) => [status, upstreamStatus]);
    const expected = [
      [0, 201],
      [0, 0],
      [429, 0],
      [0, 0],
    ];
    await vi.waitFor(() => expect(outcomes()).toEqual(expected), PATIENCE);
    await client.create(configMap(name('at-last')));
  },
);

test('returns the response after the action of "after", and after the time of "delay"', async () => {
  const { proxy, client } = await through();
  const order: string[] = [];
  const run = async (_: KubernetesRequest, status: number) => {
    order.push(`${status}, ${(await find('after')) === undefined ? 'not made' : 'made'}`);
  };
  proxy.add({ match: creates, fault: { kind: 'after', run }, times: 1 });
  await client.create(configMap('after')).then(() => order.push('answered'));
  expect(order).toEqual(['201, made', 'answered']);
  proxy.add({ match: creates, fault: { kind: 'delay', ms: 50 } });
  await client.create(configMap('delay'));
  const exchange = proxy.exchanges().at(-1);
  expect((exchange?.endedAt ?? 0) - (exchange?.at ?? 0)).toBeGreaterThanOrEqual(49);
});

test('forwards nothing with "before" when the client process is killed meanwhile', async () => {
  const { proxy } = await through();
  const { kubeconfigPath, kubectlPath } = environment();
  const file = await proxy.kubeconfigFor('kubectl', kubeconfigPath);
  const args = ['--kubeconfig', file, '-n', namespace, 'create', 'configmap'];
  const create = (name: string) => execFile(kubectlPath, [...args, name], () => undefined);
  await once(create('alive'), 'exit');
  expect(await find('alive')).toBeDefined();
  const victim = Promise.withResolvers<ChildProcess>();
  const run = async () => {
    const child = await victim.promise;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  const killing = proxy.add({ match: creates, fault: { kind: 'before', run } });
  victim.resolve(create('killed'));
  await killing.waitTaken();
  // kubectl writes protobuf: the name in it is not read.
  const its = () => proxy.exchanges('kubectl').filter(creates).slice(1);
  await vi.waitFor(() => expect(its()).toMatchObject([{ status: 0, upstreamStatus: 0 }]), PATIENCE);
  await vi.waitFor(() => expect(proxy.connections('kubectl')).toBe(0), PATIENCE);
  expect(await find('killed')).toBeUndefined();
});

test('drops the selected events with "filter-watch", also of a watch that is already open', async () => {
  const { proxy, client } = await through();
  const { make, sees } = await follow(client, 'filter');
  await vi.waitFor(() => expect(proxy.exchanges().some(watches)).toBe(true), PATIENCE);
  const seen: string[] = [];
  const drop = ({ type, object }: { type: string; object: { metadata: { name?: string } } }) => {
    seen.push(`${type} ${object.metadata.name}`);
    return object.metadata.name === 'filter.b';
  };
  const dropping = proxy.add({ match: watches, fault: { kind: 'filter-watch', drop } });
  expect(dropping.taken()).toBe(1);
  for (const name of ['a', 'b', 'c']) await make(name);
  await sees('a', 'c');
  expect(seen).toEqual(['ADDED filter.a', 'ADDED filter.b', 'ADDED filter.c']);
  dropping.remove();
  await make('d');
  await sees('a', 'c', 'd');
});

test.each([
  ['auto', 'end', 1],
  ['auto', 'mid-line', 1],
  ['auto', 'reset', 1],
  ['auto', 'gone-event', 2],
  ['http1', 'mid-line', 1],
  ['http1', 'reset', 1],
] as const)(
  'with protocol %s, the cache is complete after "cut-watch" (%s) with one more watch and %i lists',
  async (protocol, how, expected) => {
    const { proxy, client } = await through(protocol);
    const ended: string[] = [];
    const onCut = ({ resource }: KubernetesRequest) => void ended.push(resource);
    const fault = { kind: 'cut-watch', afterEvents: 1, how, onCut } as const;
    const cutting = proxy.add({ match: watches, fault, times: 1 });
    const { reflector, make, sees } = await follow(client, `${protocol}-${how}`);
    await cutting.waitTaken();
    // It is taken, and goes on until its event comes.
    expect(ended).toEqual([]);
    for (const name of ['a', 'b', 'c']) await make(name);
    await sees('a', 'b', 'c');
    await vi.waitFor(() => expect(proxy.exchanges().filter(watches)).toHaveLength(2), PATIENCE);
    expect(reflector.stats()).toMatchObject({ lists: expected });
    expect(ended).toEqual(['configmaps']);
    await vi.waitFor(() => expect(proxy.openWatches('tester')).toHaveLength(1), PATIENCE);
  },
);

test.each([
  ['auto', 'end'],
  ['auto', 'mid-line'],
  ['auto', 'reset'],
  ['auto', 'gone-event'],
  ['http1', 'mid-line'],
  // Not by a reset of HTTP/1.1: whether the answer's head came before it is chance, and what never began is asked for again.
] as const)(
  'with protocol %s, a streamed list that is cut (%s) is followed by a list in pages, then by a stream',
  async (protocol, how) => {
    const { proxy, client } = await through(protocol);
    const by = `list-${protocol}-${how}`;
    const { make, sees } = await follow(client, by);
    for (const name of ['a', 'b', 'c']) await make(name);
    await sees('a', 'b', 'c');
    const fault = { kind: 'cut-watch', afterEvents: 1, how } as const;
    proxy.add({ match: lists, fault, times: 1 });
    const from = proxy.exchanges().filter(lists).length;
    const list = async () => {
      const options = { namespace, labelSelector: `by=${by}`, streamed: true };
      return (await client.listAll(ConfigMap, options)).items.length;
    };
    await expect(list()).rejects.toMatchObject({ name: 'KubeError' });
    expect([await list(), await list()]).toEqual([3, 3]);
    const ways = () =>
      proxy
        .exchanges()
        .filter(lists)
        .slice(from)
        .map(({ path }) => (path.includes('sendInitialEvents') ? 'stream' : 'pages'));
    await vi.waitFor(() => expect(ways()).toEqual(['stream', 'pages', 'stream']), PATIENCE);
  },
);

test.each([true, false])('returns the recorded list with "stale-list" (streamed: %s)', async (streamed) => {
  const { proxy, client } = await through();
  proxy.recordLists('configmaps');
  const by = `stale-${streamed}`;
  const { make, sees } = await follow(client, by);
  const list = () => client.listAll(ConfigMap, { namespace, labelSelector: `by=${by}`, streamed });
  expect((await list()).items).toHaveLength(0);
  await make('new');
  await sees('new');
  expect((await list()).items).toHaveLength(1);
  const stale = proxy.add({ match: lists, fault: { kind: 'stale-list' } });
  expect((await list()).items).toHaveLength(0);
  stale.remove();
  expect((await list()).items).toHaveLength(1);
});

test('cancels a watch at the API server when the client cancels it', async () => {
  const { proxy, client } = await through();
  const stop = new AbortController();
  const options = { namespace, resourceVersion: '0', timeoutSeconds: 300, idleTimeoutMs: 60_000 };
  const watching = client.watch(ConfigMap, { ...options, signal: stop.signal }, () => undefined);
  await vi.waitFor(() => expect(proxy.exchanges()).toMatchObject([{ endedAt: 0, status: 200 }]), PATIENCE);
  stop.abort();
  await expect(watching).rejects.toMatchObject({ kind: 'aborted' });
  await vi.waitFor(() => expect(proxy.upstreamRequests()).toBe(0), PATIENCE);
  expect(proxy.exchanges()[0]?.endedAt).toBeGreaterThan(0);
});

test('ends a blackhole and a cut, of one client or of all, with open()', async () => {
  const { proxy, client } = await through();
  const file = await proxy.kubeconfigFor('other', environment().kubeconfigPath);
  const other = await createKubeClient(optionsFor(file));
  onTestFinished(() => other.close());
  const { make, sees, names } = await follow(client, 'blackhole');
  const get = (by: KubeClient, timeoutMs?: number) => by.get(Namespace, { name: namespace }, { timeoutMs });
  proxy.blackhole('tester');
  await expect(get(client, 1_000)).rejects.toMatchObject({ retryable: true });
  await get(other);
  await make('meanwhile');
  expect(names()).toEqual([]);
  proxy.open();
  await sees('meanwhile');
  proxy.cut();
  for (const by of [client, other]) await expect(get(by)).rejects.toMatchObject({ kind: 'network' });
  proxy.open('other');
  await get(other);
  await expect(get(client)).rejects.toMatchObject({ kind: 'network' });
  proxy.open();
  await get(client);
});

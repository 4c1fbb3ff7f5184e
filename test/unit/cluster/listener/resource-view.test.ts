import { afterEach, expect, it } from 'vitest';
import { Reflector } from '../../../../src/cluster/kube/cache/reflector.ts';
import { KubeError } from '../../../../src/cluster/kube/client/errors.ts';
import { RESOURCES } from '../../../../src/cluster/kube/client/resources.ts';
import { checkNamespace } from '../../../../src/cluster/listener/refusal.ts';
import { type Resource, ResourceView } from '../../../../src/cluster/listener/resource-view.ts';
import { FakeClock, recordingLogger } from '../kube/support.ts';
import { settle, specOf } from './fixtures.ts';

const signal = new AbortController().signal;
let view: ResourceView;
afterEach(() => view.stop());

/** A view of namespaces, each with one resource; those in `denied` cannot be listed. */
function setUp(names: readonly string[], denied: Set<string>) {
  const clock = new FakeClock();
  const resource = (namespace: string): Resource => ({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name: 'shop', namespace, uid: namespace, resourceVersion: '5' },
    spec: specOf(1),
  });
  const client = {
    listAll: async (_kind: unknown, { namespace = '' }: { namespace?: string | undefined } = {}) => {
      if (denied.has(namespace)) throw new KubeError({ kind: 'forbidden', message: `no ${namespace}` });
      return { items: [resource(namespace)], resourceVersion: '5' };
    },
    watch: (_kind: unknown, { signal: ending }: { signal?: AbortSignal | undefined }) =>
      new Promise<never>((_resolve, reject) =>
        ending?.addEventListener('abort', () => reject(ending.reason)),
      ),
    find: async () => undefined,
  };
  const reflectors = names.map(
    (namespace) =>
      [
        namespace,
        new Reflector<Resource>({
          client: client as never,
          resource: RESOURCES.ManagedDeployment,
          logger: recordingLogger(),
          clock,
          random: () => 1,
          namespace,
        }),
      ] as const,
  );
  view = new ResourceView(new Map(reflectors));
  view.start();
  return clock;
}

it('a namespace without rights does not block others, and its error is reported', async () => {
  setUp(['open', 'closed'], new Set(['closed']));
  await view.waitForSync(signal);
  expect(view.list().map(({ metadata }) => metadata.namespace)).toEqual(['open']);
  expect(view.lastError()).toBeUndefined();
  expect(view.unreadable()).toEqual([{ namespace: 'closed', message: 'no closed' }]);
  expect(view.listed()).toEqual(['open']);
  checkNamespace(view, 'open');
  expect(() => checkNamespace(view, 'closed')).toThrow('cannot read the namespace closed: no closed');
  expect(() => checkNamespace(view, 'other')).toThrow('may not work in the namespace other');
});

it('a namespace that becomes readable later is reported, and is served from then on', async () => {
  const denied = new Set(['closed']);
  const clock = setUp(['open', 'closed'], denied);
  await view.waitForSync(signal);
  let late = 0;
  view.onLateSync(() => {
    late += 1;
  }, signal);
  denied.clear();
  clock.advance(60_000);
  await settle();
  expect([late, view.listed()]).toEqual([1, ['open', 'closed']]);
  checkNamespace(view, 'closed');
});

it('the view waits while nothing can be read, and the cluster counts as unreachable', async () => {
  const denied = new Set(['one', 'two']);
  const clock = setUp(['one', 'two'], denied);
  let synced = false;
  const waiting = view.waitForSync(signal).then(() => {
    synced = true;
  });
  await settle();
  expect([synced, view.lastError()]).toEqual([false, 'no one']);
  denied.delete('two');
  clock.advance(60_000);
  await waiting;
});

it('a watch event with the written object counts as an own write only until the response to the write', async () => {
  setUp(['open'], new Set());
  await view.waitForSync(signal);
  const [seen] = view.list();
  if (seen === undefined) throw new Error('nothing is listed');
  const others = [
    { ...seen, metadata: { ...seen.metadata, name: 'blog' } },
    { ...seen, spec: { ...seen.spec, deploymentId: 'another' } },
    // An edit of the same resource by another account, while the answer to our write is under way.
    { ...seen, spec: { ...seen.spec, suspend: true } },
  ];
  const answer = Promise.withResolvers<Resource>();
  const created = view.writing(seen, () => answer.promise);
  expect([seen, ...others].map((each) => view.isOwnWrite(each))).toEqual([true, false, false, false]);
  answer.resolve(seen);
  expect(await created).toBe(seen);
  expect(view.isOwnWrite(seen)).toBe(false);
  const refused = view.writing(seen, () => Promise.reject(new Error('no')));
  expect(view.isOwnWrite(seen)).toBe(true);
  await expect(refused).rejects.toThrow('no');
  expect(view.isOwnWrite(seen)).toBe(false);
});

it('a namespace is not synced while its list is interrupted, even if some objects were delivered', async () => {
  const clock = new FakeClock();
  const object = (name: string) =>
    ({
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ManagedDeployment',
      metadata: { name, namespace: 'team', uid: name, resourceVersion: '5' },
      spec: specOf(1),
    }) as Resource;
  let lists = 0;
  const client = {
    // Like the client's streamed list: each object passes through `transform` as it arrives.
    listAll: async (_kind: unknown, { transform }: { transform: (item: Resource) => Resource }) => {
      lists += 1;
      const first = transform(object('shop'));
      if (lists === 1) throw new KubeError({ kind: 'network', message: 'the stream ended' });
      return { items: [first, transform(object('other'))], resourceVersion: '5' };
    },
    watch: (_kind: unknown, { signal: ending }: { signal?: AbortSignal | undefined }) =>
      new Promise<never>((_resolve, reject) =>
        ending?.addEventListener('abort', () => reject(ending.reason)),
      ),
    find: async () => undefined,
  };
  const reflector = new Reflector<Resource>({
    client: client as never,
    resource: RESOURCES.ManagedDeployment,
    logger: recordingLogger(),
    clock,
    random: () => 1,
  });
  view = new ResourceView(new Map([['', reflector]]));
  view.start();
  let isRead = false;
  const waiting = view.waitForSync(signal).then(() => {
    isRead = true;
  });
  await settle();
  expect([lists, isRead, view.list()]).toEqual([1, false, []]);
  expect(() => checkNamespace(view, 'team')).toThrow('cannot read the namespace team');
  clock.advance(60_000);
  await waiting;
  expect(view.list().map(({ metadata }) => metadata.name)).toEqual(['shop', 'other']);
});

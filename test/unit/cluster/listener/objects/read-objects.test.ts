import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { KubeClient } from '../../../../../src/cluster/kube/client/client.ts';
import { systemClock } from '../../../../../src/cluster/kube/client/clock.ts';
import { KubeError, type KubeErrorKind } from '../../../../../src/cluster/kube/client/errors.ts';
import { type ReaderClient, ReaderLimits } from '../../../../../src/cluster/listener/logs/reader-limits.ts';
import { objectRights } from '../../../../../src/cluster/listener/objects/object-kinds.ts';
import { readObjects } from '../../../../../src/cluster/listener/objects/read-objects.ts';
import { serveObjectRequest } from '../../../../../src/cluster/listener/objects/serve-object-request.ts';
import { HubError } from '../../../../../src/cluster/listener/session/hub-client.ts';
import { objectAnswerSchema } from '../../../../../src/contract/protocol/object-protocol.ts';
import { READ_KINDS } from '../../../../../src/domain/core/object-map.ts';
import { FakeClock, recordingLogger } from '../../kube/support.ts';

const request = (query: object) => ({
  request_id: 'r',
  deployment_id: 'd',
  name: 'shop',
  namespace: 'n',
  query: query as never,
});
const MAP = request({ read: 'map' });
const POD = request({ read: 'object', kind: 'Pod', name: 'p' });
const signal = new AbortController().signal;

const MIB = 1024 * 1024;

/** A cluster that has one object of each kind, or fails for a kind. */
function cluster(failures: Readonly<Record<string, KubeErrorKind>> = {}) {
  const calls: { kind: string; selected: Record<string, unknown> }[] = [];
  const list: KubeClient['list'] = async ({ kind }, selected) => {
    calls.push({ kind, selected: { ...selected } });
    const failure = failures[kind] ?? failures['*'];
    const isPage = failure === 'response_too_large' && selected?.limit !== undefined;
    if (failure !== undefined && !isPage) throw new KubeError({ kind: failure, message: 'x' });
    const metadata = { name: kind.toLowerCase(), uid: `uid-${kind}` };
    return { items: [{ apiVersion: 'v1', kind, metadata }], resourceVersion: '1' } as never;
  };
  return {
    calls,
    read: (of = MAP) => readObjects({ client: { list }, request: of, signal }),
    client: { list, listAll: list } as ReaderClient,
  };
}

test('reads the most recent state of each kind from the caches of API servers, with a bounded size', async () => {
  const { calls, read } = cluster();
  const { map } = await read();
  expect(map?.objects.map(({ kind }) => kind)).toEqual([...READ_KINDS]);
  expect(map).toMatchObject({ omitted: [], unread: [], metrics: { available: true, reason: null } });
  expect(calls.map(({ kind }) => kind).sort()).toEqual([...READ_KINDS, 'PodMetrics'].sort());
  for (const { selected } of calls) {
    expect(selected).toMatchObject({
      namespace: 'n',
      labelSelector: 'berth.dev/deployment-id=d',
      maxBytes: 4 * MIB,
    });
    // With one of them, an API server would read etcd, or return an old state.
    expect([selected['limit'], selected['resourceVersion']]).toEqual([undefined, undefined]);
  }
});

test('reads a page of living pods when a list is too large, and says that there are more', async () => {
  const { calls, read } = cluster({ Pod: 'response_too_large' });
  const { map } = await read();
  expect(map?.objects).toHaveLength(READ_KINDS.length);
  expect(map?.omitted).toEqual([{ kind: 'Pod', count: 0, exact: false }]);
  expect(calls.filter(({ kind }) => kind === 'Pod').at(-1)?.selected).toMatchObject({
    limit: 200,
    maxBytes: 4 * MIB,
    fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
  });
});

test.each([
  ['the cluster has no Gateway API', { HTTPRoute: 'unknown_resource' }, []],
  [
    'a right is missing',
    { Ingress: 'forbidden' },
    [{ kind: 'Ingress', message: expect.stringMatching(/right/) }],
  ],
  ['a list takes too long', { Pod: 'timeout' }, [{ kind: 'Pod', message: expect.stringMatching(/in time/) }]],
] as const)('returns the other kinds when %s', async (_when, failures, unread) => {
  const { map } = await cluster(failures).read();
  expect(map?.unread).toEqual(unread);
  expect(map?.objects).toHaveLength(READ_KINDS.length - 1);
});

test.each([
  ['unknown_resource', /no metrics API/],
  ['forbidden', /right to list pods.metrics.k8s.io/],
  ['server', /does not respond/],
] as const)('says why usage is missing when the metrics API answers %s', async (failure, reason) => {
  const { map } = await cluster({ PodMetrics: failure }).read();
  expect(map?.metrics).toEqual({ available: false, reason: expect.stringMatching(reason) });
});

test('reads one object by name and label, and its events by kind, name and uid, with a limit', async () => {
  const { calls, read } = cluster();
  const { object } = await read(POD);
  expect(object).toMatchObject({ object: { kind: 'Pod', name: 'pod' }, events: [{ count: 1 }], unread: [] });
  const about = 'involvedObject.kind=Pod,involvedObject.name=pod,involvedObject.uid=uid-Pod';
  expect(
    calls.map(({ selected: { labelSelector, fieldSelector, limit } }) => [
      labelSelector,
      fieldSelector,
      limit,
    ]),
  ).toEqual([
    ['berth.dev/deployment-id=d', 'metadata.name=p', undefined],
    [undefined, about, 500],
  ]);
});

test.each([
  ['the cluster is away', { '*': 'network' }, MAP, { failure: 'unavailable' }],
  ['the cluster is away', { '*': 'network' }, POD, { failure: 'unavailable' }],
  ['a right is missing', { Pod: 'forbidden' }, POD, { failure: 'denied' }],
  ['the kind is not installed', { Pod: 'unknown_resource' }, POD, { failure: 'not_found' }],
] as const)('reports the failure when %s', async (_when, failures, of, answer) => {
  expect(await cluster(failures as never).read(of)).toEqual(answer);
});

test.each([MAP, POD])(
  'reports too many reads when the time ends before a list has its turn: %#',
  async (of) => {
    const ended = AbortSignal.abort();
    const list: KubeClient['list'] = () => Promise.reject(ended.reason);
    expect(await readObjects({ client: { list }, request: of, signal: ended })).toEqual({ failure: 'busy' });
  },
);

test('returns the object without events when events cannot be read', async () => {
  const { object } = await cluster({ Event: 'forbidden' }).read(POD);
  expect(object).toMatchObject({ events: [], unread: [{ kind: 'Event' }] });
});

test('needs only the right to list, and none on Secrets', () => {
  const rights = objectRights();
  expect(new Set(rights.map(({ verb }) => verb))).toEqual(new Set(['list']));
  expect(rights.map(({ resource }) => resource)).not.toContain('secrets');
});

const answersOf = (
  sendObjects: (answer: object, count: number) => void,
  client: ReaderClient = cluster().client,
) => {
  const answers: object[] = [];
  return {
    answers,
    options: {
      client,
      limits: new ReaderLimits(),
      hub: {
        async sendObjects(_id: string, answer: object) {
          answers.push(answer);
          sendObjects(answer, answers.length);
        },
      },
      term: { epoch: 4, lost: signal, isValid: () => true, end: () => undefined },
      logger: recordingLogger(),
      clock: systemClock,
      signal,
    },
  };
};

test.each([
  [503, 2],
  [404, 1],
])('sends an answer %d again only when the reader is still there', async (status, times) => {
  const { answers, options } = answersOf((_answer, count) => {
    if (count === 1) throw new HubError('unavailable', 'away', status, 0);
  });
  await serveObjectRequest(options, MAP);
  expect(answers.map((answer) => objectAnswerSchema.parse(answer).epoch)).toEqual(Array(times).fill(4));
});

/** A cluster whose lists wait for `open`, and which counts them by tenant (the namespace). */
function slowCluster() {
  const opened = Promise.withResolvers<void>();
  const running = new Map<string, number>();
  const { client } = cluster();
  const list: KubeClient['list'] = async (resource, options) => {
    const of = options?.namespace ?? '';
    running.set(of, (running.get(of) ?? 0) + 1);
    await opened.promise;
    return client.list(resource, options);
  };
  return { client: { ...client, list }, running, open: opened.resolve };
}

const readBy = (namespace: string) => ({ ...MAP, namespace });

test('leaves lists for other tenants when one tenant reads many maps, and answers at once when there are too many', async () => {
  const { client, running, open } = slowCluster();
  const { answers, options } = answersOf(() => undefined, client);
  const greedy = Array.from({ length: 21 }, () => serveObjectRequest(options, readBy('greedy')));
  await greedy.at(-1);
  expect(answers).toEqual([{ epoch: 4, failure: 'busy' }]);
  expect(running.get('greedy')).toBe(5);
  const other = serveObjectRequest(options, readBy('other'));
  await setImmediate();
  expect(running.get('other')).toBe(5);
  open();
  await Promise.all([...greedy, other]);
  expect(answers.filter((answer) => 'map' in answer)).toHaveLength(21);
});

test('answers with what it has read when the time of a request is over', async () => {
  const { client } = cluster();
  const list: KubeClient['list'] = (resource, options) =>
    resource.kind === 'Pod'
      ? new Promise((_, reject) =>
          options?.signal?.addEventListener('abort', () => reject(new Error('late'))),
        )
      : client.list(resource, options);
  const { answers, options } = answersOf(() => undefined, { ...client, list });
  const clock = new FakeClock();
  const serving = serveObjectRequest({ ...options, clock }, MAP);
  for (let turns = 0; turns < 20; turns += 1) await setImmediate();
  clock.advance(15_000);
  await serving;
  expect(answers).toMatchObject([{ map: { unread: [{ kind: 'Pod' }] } }]);
});

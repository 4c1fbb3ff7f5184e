import { expect, test } from 'vitest';
import type { KubeClient } from '../../../../../src/cluster/kube/client/client.ts';
import { systemClock } from '../../../../../src/cluster/kube/client/clock.ts';
import { KubeError, type KubeErrorKind } from '../../../../../src/cluster/kube/client/errors.ts';
import { objectRights } from '../../../../../src/cluster/listener/objects/object-kinds.ts';
import { readObjects } from '../../../../../src/cluster/listener/objects/read-objects.ts';
import { serveObjectRequest } from '../../../../../src/cluster/listener/objects/serve-object-request.ts';
import { HubError } from '../../../../../src/cluster/listener/session/hub-client.ts';
import { objectAnswerSchema } from '../../../../../src/contract/protocol/object-protocol.ts';
import { READ_KINDS } from '../../../../../src/domain/core/object-map.ts';
import { recordingLogger } from '../../kube/support.ts';

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

/** A cluster that has one object of each kind, or fails for a kind. */
function cluster(failures: Readonly<Record<string, KubeErrorKind>> = {}) {
  const calls: { kind: string; selected: Record<string, unknown> }[] = [];
  const list: KubeClient['list'] = async ({ kind }, selected) => {
    calls.push({ kind, selected: { ...selected } });
    const failure = failures[kind] ?? failures['*'];
    if (failure !== undefined) throw new KubeError({ kind: failure, message: 'x' });
    const metadata = { name: kind.toLowerCase(), uid: `uid-${kind}` };
    return { items: [{ apiVersion: 'v1', kind, metadata }], resourceVersion: '1' } as never;
  };
  return {
    calls,
    read: (of = MAP) => readObjects({ client: { list }, request: of, signal }),
    client: { list },
  };
}

test('reads each kind with the label of the deployment, in its namespace, with a limit', async () => {
  const { calls, read } = cluster();
  const { map } = await read();
  expect(map?.objects.map(({ kind }) => kind)).toEqual([...READ_KINDS]);
  expect(map).toMatchObject({ truncated: false, unread: [], metrics: { available: true, reason: null } });
  expect(calls.map(({ kind }) => kind).sort()).toEqual([...READ_KINDS, 'PodMetrics'].sort());
  for (const { selected } of calls)
    expect(selected).toMatchObject({
      namespace: 'n',
      labelSelector: 'berth.dev/deployment-id=d',
      limit: 500,
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

test('reads one object by name and label, and its events by uid', async () => {
  const { calls, read } = cluster();
  const { object } = await read(POD);
  expect(object).toMatchObject({ object: { kind: 'Pod', name: 'pod' }, events: [{ count: 1 }], unread: [] });
  expect(calls.map(({ selected }) => [selected['labelSelector'], selected['fieldSelector']])).toEqual([
    ['berth.dev/deployment-id=d', 'metadata.name=p'],
    [undefined, 'involvedObject.uid=uid-Pod'],
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

test('returns the object without events when events cannot be read', async () => {
  const { object } = await cluster({ Event: 'forbidden' }).read(POD);
  expect(object).toMatchObject({ events: [], unread: [{ kind: 'Event' }] });
});

test('needs only the right to list, and none on Secrets', () => {
  const rights = objectRights();
  expect(new Set(rights.map(({ verb }) => verb))).toEqual(new Set(['list']));
  expect(rights.map(({ resource }) => resource)).not.toContain('secrets');
});

test('sends an answer again when the hub does not respond, and never to a reader that is gone', async () => {
  const answers: object[] = [];
  let status = 503;
  const serve = () =>
    serveObjectRequest(
      {
        client: cluster().client,
        hub: {
          async sendObjects(_id, answer) {
            answers.push(answer);
            if (answers.length === 1) throw new HubError('unavailable', 'away', status, 0);
          },
        },
        term: { epoch: 4, lost: signal, isValid: () => true, end: () => undefined },
        logger: recordingLogger(),
        clock: systemClock,
        signal,
      },
      MAP,
    );
  await serve();
  expect(answers.map((answer) => objectAnswerSchema.parse(answer).epoch)).toEqual([4, 4]);
  answers.length = 0;
  status = 404;
  await serve();
  expect(answers).toHaveLength(1);
});

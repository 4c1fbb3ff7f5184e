import { expect, test } from 'vitest';
import { type EventObject, EventRecorder } from '../../../../../src/cluster/kube/client/events.ts';
import { currentTenant, onBehalfOf } from '../../../../../src/cluster/kube/transport/flow-context.ts';
import { untilPasses } from '../../../until-passes.ts';
import { bareObject, type FakeApiServer, sendStatus } from '../fake-api-server.ts';
import { FakeClock, fakeServer, recordingLogger } from '../support.ts';

async function setUp() {
  const { server, client } = await fakeServer();
  const clock = new FakeClock();
  const logger = recordingLogger();
  const recorder = new EventRecorder({
    client,
    component: 'berth-operator',
    instance: 'pod-1',
    logger,
    clock,
    important: new Set(['RolledBack']),
  });
  return { server, clock, logger, recorder };
}

const object = {
  ...bareObject('app'),
  metadata: { name: 'app', namespace: 'ns', uid: 'u1', resourceVersion: '7' },
};
const stored = (server: FakeApiServer) => [...server.objects.values()] as EventObject[];

test('an event contains object, reason, message and component', async () => {
  const { server, recorder } = await setUp();
  recorder.record(object, 'Warning', 'RolloutFailed', 'the image does not exist');
  await recorder.flush();
  expect(stored(server)).toMatchObject([
    {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'ns', name: expect.stringMatching(/^app\./) },
      involvedObject: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        namespace: 'ns',
        name: 'app',
        uid: 'u1',
        resourceVersion: '7',
      },
      type: 'Warning',
      reason: 'RolloutFailed',
      message: 'the image does not exist',
      count: 1,
      firstTimestamp: '2030-01-01T00:00:00Z',
      source: { component: 'berth-operator' },
      reportingInstance: 'pod-1',
    },
  ]);
});

test('a repeated event increases the count, without a further call while it waits to be sent', async () => {
  const { server, clock, recorder } = await setUp();
  recorder.record(object, 'Normal', 'Applied', 'x');
  await recorder.flush();
  clock.advance(60_000);
  for (let n = 0; n < 5; n += 1) recorder.record(object, 'Normal', 'Applied', 'x');
  await recorder.flush();
  expect(stored(server)).toMatchObject([
    { count: 6, firstTimestamp: '2030-01-01T00:00:00Z', lastTimestamp: '2030-01-01T00:01:00Z' },
  ]);
  expect({ posts: server.count('POST'), patches: server.count('PATCH') }).toEqual({ posts: 1, patches: 1 });
});

test('different messages create separate events, and cluster-scoped objects have theirs in the namespace default', async () => {
  const { server, recorder } = await setUp();
  recorder.record(object, 'Normal', 'Applied', 'x');
  recorder.record(object, 'Normal', 'Applied', 'y');
  recorder.record({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } }, 'Normal', 'Applied', 'x');
  await recorder.flush();
  expect(stored(server).map(({ metadata }) => metadata.namespace)).toEqual(['ns', 'ns', 'default']);
});

test('an event that the server has deleted is created again', async () => {
  const { server, recorder } = await setUp();
  recorder.record(object, 'Normal', 'Applied', 'x');
  await recorder.flush();
  server.objects.clear();
  recorder.record(object, 'Normal', 'Applied', 'x');
  await recorder.flush();
  expect(stored(server)).toMatchObject([{ count: 1 }]);
});

test.each([
  ['Warning', 50, 20_000],
  ['Normal', 25, 60_000],
] as const)(
  'one object cannot flood the server with events of the type %s',
  async (type, burst, refillMs) => {
    const { server, clock, recorder } = await setUp();
    const reported = () => stored(server).filter(({ reason }) => reason === 'Failing');
    for (let n = 0; n < 100; n += 1) recorder.record(object, type, 'Failing', `attempt ${n}`);
    await recorder.flush();
    expect(reported()).toHaveLength(burst);
    clock.advance(refillMs);
    recorder.record(object, type, 'Failing', 'later');
    recorder.record(object, type, 'Failing', 'and later');
    await recorder.flush();
    expect(reported()).toHaveLength(burst + 1);
  },
);

test('ordinary events do not use up the budget of warnings and important events', async () => {
  const { server, recorder } = await setUp();
  for (let n = 0; n < 100; n += 1) recorder.record(object, 'Normal', 'Progressing', `step ${n}`);
  recorder.record(object, 'Warning', 'RolloutFailed', 'it crashes');
  recorder.record(object, 'Normal', 'RolledBack', 'what ran before runs again');
  recorder.record(object, 'Normal', 'Progressing', 'one more');
  await recorder.flush();
  const reasons = stored(server).map(({ reason }) => reason);
  expect(reasons).toContain('RolloutFailed');
  expect(reasons).toContain('RolledBack');
  expect(reasons.filter((reason) => reason === 'Progressing')).toHaveLength(25);
});

test('the number of dropped events is reported at once, then once a minute', async () => {
  const { server, clock, recorder } = await setUp();
  const leftOut = () => stored(server).filter(({ reason }) => reason === 'EventsLeftOut');
  for (let n = 0; n < 25; n += 1) recorder.record(object, 'Normal', 'Progressing', `step ${n}`);
  await recorder.flush();
  expect(leftOut()).toEqual([]);
  for (let n = 25; n < 35; n += 1) recorder.record(object, 'Normal', 'Progressing', `step ${n}`);
  await recorder.flush();
  expect(leftOut()).toMatchObject([{ type: 'Warning', count: 1 }]);
  clock.advance(59_999);
  recorder.record(object, 'Normal', 'Progressing', 'one more');
  await recorder.flush();
  expect(leftOut()).toMatchObject([{ count: 1 }]);
  clock.advance(1);
  // The budget allows one again.
  for (const text of ['and', 'another']) recorder.record(object, 'Normal', 'Progressing', text);
  await recorder.flush();
  expect(leftOut()).toMatchObject([{ count: 12 }]);
});

test('a failure to send an event is not passed to the caller', async () => {
  const { server, logger, recorder } = await setUp();
  server.intercept = (_request, response) => {
    sendStatus(response, 403, 'Forbidden');
    return true;
  };
  recorder.record(object, 'Normal', 'Applied', 'x'.repeat(5_000));
  await recorder.flush();
  await untilPasses(() => expect(logger.lines).toMatchObject([{ level: 'debug', message: 'event dropped' }]));
  expect(server.requests[0]?.body).toMatchObject({ message: expect.stringMatching(/^x{1023}…$/) });
});

test('events are sent on behalf of no tenant, so that no tenant waits for the writes of another', async () => {
  const tenants: string[] = [];
  const create = async <T>(sent: T): Promise<T> => {
    tenants.push(currentTenant());
    return sent;
  };
  const client = { create, patch: () => Promise.reject(new Error('no patch is expected')) };
  const recorder = new EventRecorder({ client, component: 'berth-operator', logger: recordingLogger() });
  onBehalfOf('crowd', () => recorder.record(object, 'Normal', 'Applied', 'x'));
  onBehalfOf('other', () => recorder.record(object, 'Normal', 'Applied', 'y'));
  await recorder.flush();
  expect(tenants).toEqual(['', '']);
});

test('a tenant with too many waiting events loses none of the events of other tenants', async () => {
  const sent: string[] = [];
  const create = async <T extends object>(event: T): Promise<T> => {
    sent.push((event as unknown as EventObject).message);
    return event;
  };
  const client = { create, patch: () => Promise.reject(new Error('no patch is expected')) };
  const recorder = new EventRecorder({ client, component: 'berth-operator', logger: recordingLogger() });
  const recordFor = (tenant: string, uid: string) => {
    const one = { ...object, metadata: { ...object.metadata, uid } };
    onBehalfOf(tenant, () => recorder.record(one, 'Warning', 'Failed', tenant));
  };
  for (let n = 0; n < 1_100; n += 1) recordFor('crowd', `crowd-${n}`);
  recordFor('other', 'other');
  await recorder.flush();
  const countOf = (tenant: string) => sent.filter((each) => each === tenant).length;
  // One event was sent while 1,000 waited.
  expect({ crowd: countOf('crowd'), other: countOf('other') }).toEqual({ crowd: 1_001, other: 1 });
});

test('events are sent one at a time, in turns between tenants', async () => {
  const sent: string[] = [];
  const running = { count: 0, max: 0 };
  const create = async <T extends object>(event: T): Promise<T> => {
    running.count += 1;
    running.max = Math.max(running.max, running.count);
    await Promise.resolve();
    sent.push((event as unknown as EventObject).message);
    running.count -= 1;
    return event;
  };
  const client = { create, patch: () => Promise.reject(new Error('no patch is expected')) };
  const recorder = new EventRecorder({ client, component: 'berth-operator', logger: recordingLogger() });
  for (let n = 0; n < 20; n += 1)
    onBehalfOf('crowd', () => recorder.record(object, 'Warning', 'Failed', `crowd ${n}`));
  onBehalfOf('other', () => recorder.record(object, 'Warning', 'Failed', 'other'));
  await recorder.flush();
  expect(sent.slice(0, 3)).toEqual(['crowd 0', 'crowd 1', 'other']);
  expect({ sent: sent.length, max: running.max }).toEqual({ sent: 21, max: 1 });
});

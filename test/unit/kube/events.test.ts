import { expect, test, vi } from 'vitest';
import { type EventObject, EventRecorder } from '../../../src/kube/events.ts';
import { bareObject, type FakeApiServer, sendStatus } from './fake-api-server.ts';
import { FakeClock, fakeServer, recordingLogger } from './support.ts';

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
  });
  return { server, clock, logger, recorder };
}

const object = {
  ...bareObject('app'),
  metadata: { name: 'app', namespace: 'ns', uid: 'u1', resourceVersion: '7' },
};
const stored = (server: FakeApiServer) => [...server.objects.values()] as EventObject[];

test('an event says about what, what, why and who', async () => {
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

test('the same again counts up; while it waits to be sent, without a further call', async () => {
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

test('other messages are other events; cluster-scoped objects have theirs in default', async () => {
  const { server, recorder } = await setUp();
  recorder.record(object, 'Normal', 'Applied', 'x');
  recorder.record(object, 'Normal', 'Applied', 'y');
  recorder.record({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } }, 'Normal', 'Applied', 'x');
  await recorder.flush();
  expect(stored(server).map(({ metadata }) => metadata.namespace)).toEqual(['ns', 'ns', 'default']);
});

test('an event that the server has forgotten is said anew', async () => {
  const { server, recorder } = await setUp();
  recorder.record(object, 'Normal', 'Applied', 'x');
  await recorder.flush();
  server.objects.clear();
  recorder.record(object, 'Normal', 'Applied', 'x');
  await recorder.flush();
  expect(stored(server)).toMatchObject([{ count: 1 }]);
});

test('one object cannot flood the server', async () => {
  const { server, clock, recorder } = await setUp();
  for (let n = 0; n < 100; n += 1) recorder.record(object, 'Warning', 'Failing', `attempt ${n}`);
  await recorder.flush();
  expect(stored(server)).toHaveLength(25);
  clock.advance(300_000);
  recorder.record(object, 'Warning', 'Failing', 'later');
  recorder.record(object, 'Warning', 'Failing', 'and later');
  await recorder.flush();
  expect(stored(server)).toHaveLength(26);
});

test('failures stay inside', async () => {
  const { server, logger, recorder } = await setUp();
  server.intercept = (_request, response) => {
    sendStatus(response, 403, 'Forbidden');
    return true;
  };
  recorder.record(object, 'Normal', 'Applied', 'x'.repeat(5_000));
  await recorder.flush();
  await vi.waitFor(() => expect(logger.lines).toMatchObject([{ level: 'debug', message: 'event dropped' }]));
  expect(server.requests[0]?.body).toMatchObject({ message: expect.stringMatching(/^x{1023}…$/) });
});

import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../../src/cluster/kube/client/clock.ts';
import { KubeError } from '../../../../src/cluster/kube/client/errors.ts';
import type { LogLine } from '../../../../src/cluster/kube/client/log-lines.ts';
import { LogBuffer } from '../../../../src/cluster/listener/logs/log-buffer.ts';
import { LogReading, type ReadingOptions } from '../../../../src/cluster/listener/logs/log-reading.ts';
import { selectContainers, skippedSentence } from '../../../../src/cluster/listener/logs/log-slots.ts';
import {
  loggedContainers,
  podSelector,
  type WorkloadPod,
} from '../../../../src/cluster/listener/logs/workload-pod.ts';
import { HubError } from '../../../../src/cluster/listener/session/hub-client.ts';
import type { LogChunk, LogRequest } from '../../../../src/contract/protocol/log-protocol.ts';
import { LABELS } from '../../../../src/contract/resource/names.ts';
import type { WorkloadLogLine } from '../../../../src/domain/core/log-query.ts';

const REVISION = '01890000-0000-7000-8000-00000000beef';
const request = (query: Partial<LogRequest['query']> = {}): LogRequest => ({
  request_id: 'r',
  deployment_id: 'd',
  namespace: 'n',
  query: { limit: 10, follow: false, ...query },
});

function pod(name: string, states: Record<string, object>, restartCount = 0): WorkloadPod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'n',
      uid: name,
      labels: { [LABELS.component]: 'api', [LABELS.revisionId]: REVISION },
    },
    status: {
      containerStatuses: Object.entries(states).map(([container, state]) => ({
        name: container,
        restartCount,
        state,
      })),
    },
  };
}

describe('pods', () => {
  test('are selected by deployment, and by component and revision if given', () => {
    expect(podSelector(request())).toBe(
      'berth.dev/deployment-id=d,app.kubernetes.io/component in (api,queue,orchestrator,executor,database,cache)',
    );
    expect(podSelector(request({ component: 'queue', revision_id: REVISION }))).toBe(
      `berth.dev/deployment-id=d,app.kubernetes.io/component=queue,berth.dev/revision-id=${REVISION}`,
    );
  });

  test('have a log for each started container, and another one after a restart', () => {
    const states = { app: { running: {} }, later: { waiting: {} }, over: { terminated: {} } };
    const found = loggedContainers(pod('p', states));
    expect(found.map(({ key, hasEnded }) => [key, hasEnded])).toEqual([
      ['p/app/0', false],
      ['p/over/0', true],
    ]);
    expect(found[0]?.source).toEqual({ component: 'api', pod: 'p', container: 'app', revision_id: REVISION });
    expect(loggedContainers(pod('p', { app: { waiting: {} } }, 2)).map(({ key }) => key)).toEqual([
      'p/app/2',
    ]);
    const stranger = pod('p', states);
    expect(loggedContainers({ ...stranger, metadata: { ...stranger.metadata, labels: {} } })).toEqual([]);
  });
});

test('a full buffer makes writers wait until lines are taken or the reader is gone', async () => {
  const buffer = new LogBuffer();
  const line = (text: string): WorkloadLogLine => ({
    at: '',
    component: 'api',
    pod: 'p',
    container: 'c',
    text,
  });
  const long = 'x'.repeat(64 * 1024);
  for (let count = 0; count < 4; count += 1) expect(await buffer.add(line(long))).toBe(true);
  let added: boolean | undefined;
  const adding = buffer.add(line('late')).then((is) => {
    added = is;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(added).toBeUndefined();
  expect(buffer.take(10, 1)).toHaveLength(1);
  await adding;
  expect(added).toBe(true);
  expect(buffer.take(10, 1_000_000).at(-1)?.text).toBe('late');
  expect(buffer.isEmpty).toBe(true);
  for (let count = 0; count < 4; count += 1) await buffer.add(line(long));
  const waiting = buffer.add(line('never'));
  buffer.close();
  expect(await waiting).toBe(false);
});

test('waiting writers are all served, and all of them are released when the reader is gone', async () => {
  const buffer = new LogBuffer();
  const text = 'x'.repeat(8000);
  const names = ['a', 'b', 'c', 'd', 'e'];
  const adding = names.map(async (container) => {
    for (let count = 0; count < 100; count += 1)
      await buffer.add({ at: '', component: 'api', pod: 'p', container, text });
  });
  const taken: string[] = [];
  for (let takes = 0; takes < 100; takes += 1) {
    taken.push(...buffer.take(1000, 128 * 1024).map(({ container }) => container));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(names.map((name) => taken.filter((container) => container === name).length)).toEqual(
    names.map(() => 100),
  );
  await Promise.all(adding);
  const line = { at: '', component: 'api', pod: 'p', container: 'c', text } as const;
  for (let count = 0; count < 33; count += 1) await buffer.add(line);
  const waiting = names.map(() => buffer.add(line));
  buffer.close();
  expect(await Promise.all(waiting)).toEqual(names.map(() => false));
});

describe('containers beyond the limit of logs', () => {
  const unknown = () => undefined;
  const pods = (prefix: string, count: number, state: object) =>
    Array.from({ length: count }, (_, index) => pod(`${prefix}${index}`, { app: state }));
  const ended = pods('ended', 52, { terminated: {} }).flatMap((one) => loggedContainers(one));
  const running = pods('runs', 13, { running: {} }).flatMap((one) => loggedContainers(one));

  test('are read up to the limit, running ones first, and the others are named', () => {
    const { read, left } = selectContainers([...ended, ...running], unknown);
    expect(read).toHaveLength(50);
    expect(read.slice(0, 13)).toEqual(running);
    expect(left).toEqual(ended.slice(37));
    expect(skippedSentence(left)).toBe(
      ' The logs of 15 more containers were not read. Pods of these containers: ended37, ended38, ended39, ended40, ended41 and others. Request one component.',
    );
    expect(skippedSentence([])).toBe('');
  });

  test('keep their slot while they are read, and need none when they are complete', () => {
    const tail = (isRunning: boolean, isDone: boolean) => ({ isRunning, isDone });
    const known = (key: string) =>
      key === 'ended51/app/0' ? tail(true, false) : key.startsWith('ended') ? tail(false, true) : undefined;
    expect(selectContainers([...ended, ...running], known)).toEqual({
      read: [ended[51], ...running],
      left: [],
    });
  });

  test('are all followed in turn, running ones first', async () => {
    const all = [...pods('ended', 52, { terminated: {} }), ...pods('runs', 13, { running: {} })];
    const the = world(
      () => all,
      Object.fromEntries(all.map(({ metadata: { name } }) => [`${name}/app`, lines(name)])),
    );
    const reading = the.read(request({ follow: true }));
    await expect.poll(() => new Set(the.texts).size, { timeout: 20_000 }).toBe(65);
    expect(the.texts.slice(0, 13).sort()).toEqual(running.map(({ pod: { name } }) => name).sort());
    the.ending.abort();
    await reading;
  }, 30_000);

  test('are reported once in the log when they are skipped while following', async () => {
    const all = pods('runs', 52, { running: {} });
    const the = world(() => all, {}, quickClock(), new Promise(() => undefined));
    const reading = the.read(request({ follow: true }));
    await expect.poll(() => the.texts.length, { timeout: 20_000 }).toBe(2);
    const polls = the.polls;
    await expect.poll(() => the.polls, { timeout: 20_000 }).toBeGreaterThan(polls + 5);
    const told = the.chunks.flatMap((chunk) => chunk.lines);
    expect(told.map(({ pod: name, text }) => `${name}: ${text}`)).toEqual([
      'runs50: Berth does not follow this log, because it follows the logs of 50 other containers. Request one component.',
      'runs51: Berth does not follow this log, because it follows the logs of 50 other containers. Request one component.',
    ]);
    the.ending.abort();
    await reading;
  }, 30_000);

  test('are reported at the end when they were skipped', async () => {
    const the = world(() => pods('runs', 52, { running: {} }), {});
    await the.read(request());
    expect(the.chunks.at(-1)?.end).toContain(
      '2 more containers were not read. Pods of these containers: runs50, runs51.',
    );
  });
});

/** Everything awaited has arrived by the next turn of the event loop. */
function quickClock(): Clock {
  let now = 0;
  return {
    now: () => now,
    date: () => new Date(now),
    after(ms, callback) {
      const immediate = setImmediate(() => {
        now += ms;
        callback();
      });
      return () => clearImmediate(immediate);
    },
  };
}

function world(
  pods: () => WorkloadPod[],
  logs: Record<string, LogLine[] | KubeError>,
  clock: Clock = systemClock,
  goesOn: Promise<void> = Promise.resolve(),
) {
  let polls = 0;
  const logged: [message: string, fields: object][] = [];
  const chunks: LogChunk[] = [];
  const asked: object[] = [];
  let answer: (chunk: LogChunk) => 'taken' | 'full' = () => 'taken';
  const ending = new AbortController();
  const read = (of: LogRequest) =>
    new LogReading({
      client: {
        list: async () => {
          polls += 1;
          return { items: pods(), resourceVersion: '1' };
        },
        async *readLog({ name }: { name: string }, options: { container: string }) {
          asked.push(options);
          const log = logs[`${name}/${options.container}`] ?? [];
          if (log instanceof KubeError) throw log;
          yield* log;
          await goesOn;
        },
      } as unknown as ReadingOptions['client'],
      hub: {
        logChunk: async (_, chunk) => {
          const state = answer(chunk);
          if (state === 'taken') chunks.push(chunk);
          return { state };
        },
      },
      term: { epoch: 3, lost: ending.signal, isValid: () => true, end: () => undefined },
      request: of,
      logger: {
        debug() {},
        info() {},
        warn: (fields: object, message: string) => logged.push([message, fields]),
        error() {},
      },
      clock,
      signal: ending.signal,
    }).run();
  return {
    chunks,
    asked,
    read,
    ending,
    answers: (how: typeof answer) => {
      answer = how;
    },
    logged,
    get polls() {
      return polls;
    },
    get texts() {
      return chunks.flatMap(({ lines }) => lines.map(({ text }) => text));
    },
  };
}
const lines = (...texts: string[]): LogLine[] =>
  texts.map((text, index) => ({ at: `2026-11-21T10:00:00.${index}Z`, text }));

describe('a read of logs', () => {
  test('returns the logs of all containers, then the end with its reason, with an increasing seq', async () => {
    const the = world(() => [pod('p', { app: { running: {} }, side: { running: {} } })], {
      'p/app': lines('a', 'b'),
      'p/side': lines('c'),
    });
    await the.read(request({ since: '2026-11-21T09:00:00Z' }));
    expect(the.texts.sort()).toEqual(['a', 'b', 'c']);
    expect(the.chunks.map(({ seq }) => seq)).toEqual(the.chunks.map((_, index) => index + 1));
    expect(the.chunks.at(-1)).toMatchObject({
      end: 'All available lines were returned.',
      end_reason: 'complete',
    });
    expect(the.asked[0]).toMatchObject({ since: '2026-11-21T09:00:00Z', tail: 10, follow: false });
  });

  test('reports the number of logs that cannot be read, without messages of the cluster', async () => {
    const the = world(() => [pod('p', { app: { running: {} } })], {
      'p/app': new KubeError({ kind: 'server', message: 'dial tcp 10.0.0.1:10250: refused' }),
    });
    await the.read(request());
    expect(the.chunks.at(-1)?.end).toBe(
      'All available lines were returned. The logs of 1 containers could not be read.',
    );
  });

  test('logs a failure with the request id of the client', async () => {
    const the = world(() => [pod('p', { app: { running: {} } })], {
      'p/app': new KubeError({ kind: 'server', message: 'refused' }),
    });
    await the.read({ ...request(), http_request_id: 'of-the-client' });
    expect(the.logged).toEqual([
      ['failed to read a log', expect.objectContaining({ requestId: 'of-the-client', logRequestId: 'r' })],
    ]);
  });

  test('waits at growing intervals for a reader that accepts nothing for minutes', async () => {
    const clock = quickClock();
    const the = world(() => [pod('p', { app: { running: {} } })], { 'p/app': lines('a') }, clock);
    let tries = 0;
    the.answers(() => {
      tries += 1;
      return clock.now() < 600_000 ? 'full' : 'taken';
    });
    await the.read(request());
    expect(the.texts).toEqual(['a']);
    expect(tries).toBeLessThan(260);
  });

  test('returns the logs of previous runs, and reports when no container has one', async () => {
    const again = pod('p', { app: { running: {} }, side: { running: {} } }, 1);
    const [app, side] = again.status?.containerStatuses ?? [];
    const containerStatuses = [
      { ...app, name: 'app', lastState: { terminated: {} } },
      ...(side ? [side] : []),
    ];
    const crashed = { ...again, status: { containerStatuses } };
    const the = world(() => [crashed], { 'p/app': lines('last words') });
    await the.read(request({ previous: true }));
    expect(the.texts).toEqual(['last words']);
    expect(the.asked).toEqual([expect.objectContaining({ container: 'app', previous: true, follow: false })]);
    const none = world(() => [pod('p', { app: { running: {} } })], {});
    await none.read(request({ previous: true }));
    expect(none.asked).toEqual([]);
    expect(none.chunks.at(-1)?.end).toMatch(/^No requested container has a previous run/);
  });

  test('sends the same chunk again to a slow reader, and ends when the reader is gone', async () => {
    const the = world(() => [pod('p', { app: { running: {} } })], { 'p/app': lines('a') });
    let refused = 0;
    the.answers(() => {
      refused += 1;
      return refused < 3 ? 'full' : 'taken';
    });
    await the.read(request());
    expect(the.texts).toEqual(['a']);
    const gone = world(() => [pod('p', { app: { running: {} } })], { 'p/app': lines('a') });
    gone.answers(() => {
      throw new HubError('unavailable', 'nobody reads', 404);
    });
    await gone.read(request({ follow: true }));
    expect(gone.chunks).toEqual([]);
  });

  test('continues to follow after a short outage of the cluster', async () => {
    let polls = 0;
    const the = world(
      () => {
        polls += 1;
        if (polls === 1) throw new KubeError({ kind: 'timeout', message: 'late' });
        return [pod('p', { app: { running: {} } })];
      },
      { 'p/app': lines('a') },
    );
    const reading = the.read(request({ follow: true }));
    await expect.poll(() => the.texts, { timeout: 10_000 }).toEqual(['a']);
    the.ending.abort();
    await reading;
  });

  test('resumes an interrupted stream after its last line, and reports when it stops', async () => {
    const log = lines('a', 'b');
    const the = world(() => [pod('p', { app: { running: {} } })], { 'p/app': log });
    const reading = the.read(request({ follow: true }));
    await expect.poll(() => the.texts, { timeout: 10_000 }).toEqual(['a', 'b']);
    log.push(...lines('x', 'x', 'c').slice(2));
    await expect.poll(() => the.texts, { timeout: 10_000 }).toEqual(['a', 'b', 'c']);
    expect(the.asked.at(-1)).toMatchObject({ since: '2026-11-21T10:00:00.1Z', tail: undefined });
    the.ending.abort();
    await reading;
    expect(the.chunks.at(-1)).toMatchObject({
      end: expect.stringContaining('was stopped'),
      end_reason: 'continue',
    });
  });
});

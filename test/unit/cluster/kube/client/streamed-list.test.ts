import { describe, expect, test } from 'vitest';
import { Reflector, type ReflectorOptions } from '../../../../../src/cluster/kube/cache/reflector.ts';
import type { ObservedRequest } from '../../../../../src/cluster/kube/client/client-types.ts';
import { ListStrategy } from '../../../../../src/cluster/kube/client/list-strategy.ts';
import { RESOURCES } from '../../../../../src/cluster/kube/client/resources.ts';
import { untilPasses } from '../../../until-passes.ts';
import { bareObject, type FakeApiServer, sendStatus } from '../fake-api-server.ts';
import { fakeServer, followed, recordingLogger, watching } from '../support.ts';

/** A reflector for a server with streamed lists, and the calls of its handlers. */
async function setUp(
  prepare: (server: FakeApiServer) => void,
  options: Partial<ReflectorOptions<ReturnType<typeof bareObject>>> = {},
) {
  const { server, client } = await fakeServer();
  server.streams = true;
  prepare(server);
  const reflector = new Reflector({
    client,
    resource: RESOURCES.ConfigMap,
    logger: recordingLogger(),
    backoff: { baseMs: 1, capMs: 5 },
    maxUncompressed: 1,
    ...options,
  });
  return { server, reflector, calls: followed(reflector) };
}

type Setup = Awaited<ReturnType<typeof setUp>>;

/** Causes a complete new list. */
async function listedAgain(s: Setup): Promise<void> {
  const { lists } = s.reflector.stats();
  s.server.watchFaults.push({ kind: 'status', code: 410, reason: 'Expired' });
  s.server.cutWatches();
  await untilPasses(() => expect(s.reflector.stats().lists).toBe(lists + 1));
  await watching(s);
}

const three = (server: FakeApiServer) => {
  for (const name of ['a', 'b', 'c']) server.put(bareObject(name));
};
const names = ({ reflector }: Setup) => reflector.store.list().map(({ metadata }) => metadata.name);

describe('a streamed list', () => {
  test('is one request for the most recent state, and the watch continues from its end', async () => {
    const s = await setUp(three, { labelSelector: 'app=x', namespace: 'ns' });
    await watching(s);
    expect(names(s)).toEqual(['a', 'b', 'c']);
    expect(s.server.count('list')).toBe(0);
    const [list, watch] = s.server.requests;
    expect(Object.fromEntries(list?.query ?? [])).toMatchObject({
      labelSelector: 'app=x',
      watch: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
    });
    expect(list?.query.has('resourceVersion')).toBe(false);
    expect(watch?.query.get('resourceVersion')).toBe(s.server.version);
    expect(watch?.query.has('sendInitialEvents')).toBe(false);
    expect(s.reflector.stats()).toMatchObject({ lists: 1, errors: 0, objects: 3 });
    s.server.remove('ns/b');
    await untilPasses(() => expect(s.calls).toEqual(['+a', '+b', '+c', '-b']));
  });

  test('includes changes that happen while it is sent', async () => {
    const s = await setUp((server) => {
      three(server);
      server.beforeStreamEnd = (send) => {
        server.beforeStreamEnd = () => {};
        const gone = server.objects.get('ns/b');
        server.remove('ns/b');
        if (gone !== undefined) send({ type: 'DELETED', object: gone });
        send({ type: 'MODIFIED', object: server.put(bareObject('a', { data: { now: 'so' } })) });
        send({ type: 'ADDED', object: server.put(bareObject('d')) });
      };
    });
    await watching(s);
    expect(names(s)).toEqual(['a', 'c', 'd']);
    expect(s.reflector.store.get('ns/a')).toMatchObject({ data: { now: 'so' } });
    expect(s.calls).toEqual(['+a', '+b', '+c', '~a', '+d', '-b']);
  });

  test('reports only differences when it is repeated', async () => {
    const s = await setUp(three);
    await watching(s);
    s.server.remove('ns/b', { silently: true });
    s.server.put(bareObject('c', { data: { now: 'so' } }), { silently: true });
    await listedAgain(s);
    expect(s.calls.slice(3)).toEqual(['~c', '-b']);
    expect(s.server.count('streamed list')).toBe(2);
    expect(s.server.count('list')).toBe(0);
  });

  test('includes an object that was replaced before its end', async () => {
    const again = (server: FakeApiServer) => {
      server.beforeStreamEnd = (send) => {
        server.beforeStreamEnd = () => {};
        const gone = server.objects.get('ns/b');
        server.remove('ns/b');
        if (gone !== undefined) send({ type: 'DELETED', object: gone });
        send({ type: 'ADDED', object: server.put(bareObject('b', { data: { second: 'one' } })) });
      };
    };
    const s = await setUp((server) => {
      three(server);
      again(server);
    });
    await watching(s);
    expect(s.calls).toEqual(['+a', '+b', '+c', '-b', '+b']);
    again(s.server);
    await listedAgain(s);
    expect(s.calls.slice(5)).toEqual(['-b', '+b']);
    const uid = s.server.objects.get('ns/b')?.metadata.uid;
    expect(s.reflector.store.get('ns/b')).toMatchObject({ metadata: { uid }, data: { second: 'one' } });
  });

  test('ends at its bookmark, and later events belong to the watch', async () => {
    const s = await setUp((server) => {
      three(server);
      server.afterStreamEnd = (send) => send({ type: 'DELETED', object: server.objects.get('ns/a') ?? {} });
    });
    await watching(s);
    expect(names(s)).toEqual(['a', 'b', 'c']);
  });

  test.each(['end', 'cut', 'silence', 'bookmarks', 'error'] as const)(
    'is discarded after a fault (%s); the next list is paged, and the one after it is streamed',
    async (fault) => {
      const s = await setUp(
        (server) => {
          three(server);
          server.streamFaults.push(fault);
        },
        // Far longer than a response takes while other tests run.
        { listTimeoutMs: 3_000 },
      );
      await watching(s);
      expect(names(s)).toEqual(['a', 'b', 'c']);
      expect(s.reflector.stats()).toMatchObject({ lists: 1, errors: 1 });
      expect([s.server.count('streamed list'), s.server.count('list')]).toEqual([1, 1]);
      await listedAgain(s);
      expect([s.server.count('streamed list'), s.server.count('list')]).toEqual([2, 1]);
      expect(s.calls).toEqual(['+a', '+b', '+c']);
    },
  );

  test('is replaced by the paged list when the server is restored after an interruption', async () => {
    const s = await setUp((server) => {
      three(server);
      server.streamFaults.push('cut');
      server.beforeStreamEnd = () => {
        server.beforeStreamEnd = () => {};
        server.objects.delete('ns/c');
        server.version = '50';
        server.compact();
        server.put(bareObject('a', { data: { restored: 'yes' } }));
      };
    });
    await watching(s);
    expect(names(s).sort()).toEqual(['a', 'b']);
    expect(s.reflector.store.get('ns/a')).toMatchObject({ data: { restored: 'yes' } });
  });

  test('is requested once from a server without streamed lists', async () => {
    const s = await setUp((server) => {
      three(server);
      server.streams = false;
    });
    await watching(s);
    expect(s.reflector.stats()).toMatchObject({ lists: 1, errors: 0 });
    await listedAgain(s);
    expect(names(s)).toEqual(['a', 'b', 'c']);
    expect(s.server.refusedStreams).toBe(1);
    expect(s.server.count('list')).toBe(2);
  });

  test.each([403, 429, 503])('is requested again as a stream after a rejection with %i', async (status) => {
    let refused = 0;
    const s = await setUp((server) => {
      three(server);
      server.intercept = (_request, response) => {
        if (refused === 2) return false;
        refused += 1;
        sendStatus(response, status);
        return true;
      };
    });
    await watching(s);
    expect(names(s)).toEqual(['a', 'b', 'c']);
    expect(s.reflector.stats().errors).toBe(2);
    expect([s.server.count('streamed list'), s.server.count('list')]).toEqual([3, 0]);
  });

  test('is reported to the observer with its result once it has ended', async () => {
    const seen: ObservedRequest[] = [];
    const { server, client } = await fakeServer({ observer: (request) => seen.push(request) });
    server.streams = true;
    three(server);
    server.streamFaults.push('cut');
    const list = () => client.listAll(RESOURCES.ConfigMap, { streamed: true });
    await expect(list()).rejects.toMatchObject({ kind: 'network' });
    await list();
    await list();
    expect(seen.map(({ verb, status }) => `${verb} ${status}`)).toEqual(['list 0', 'list 200', 'list 200']);
  });

  test('ends when the reflector stops', async () => {
    const s = await setUp((server) => {
      three(server);
      server.streamFaults.push('silence');
    });
    await untilPasses(() => expect(s.calls).toHaveLength(3));
    expect(s.reflector.hasSynced()).toBe(false);
    await s.reflector.stop();
    expect(s.server.count('list')).toBe(0);
  });
});

describe('the strategy for a list', () => {
  const HOUR_MS = 3_600_000;
  const ways = () => {
    let now = 1000;
    return { ways: new ListStrategy(() => now), pass: (ms: number) => (now += ms) };
  };

  test('uses pages after an interruption, for that list only', () => {
    const { ways: way } = ways();
    way.interrupted('a');
    expect([way.mayStream('a'), way.mayStream('b')]).toEqual([false, true]);
    way.paged('a');
    expect(way.mayStream('a')).toBe(true);
  });

  test('uses pages for an hour after two consecutive interruptions', () => {
    const { ways: way, pass } = ways();
    for (let breaks = 0; breaks < 2; breaks += 1) {
      way.interrupted('a');
      way.paged('a');
    }
    expect(way.mayStream('a')).toBe(false);
    pass(HOUR_MS);
    expect(way.mayStream('a')).toBe(true);
    way.streamed('a');
    way.interrupted('a');
    way.paged('a');
    expect(way.mayStream('a')).toBe(true);
  });

  test('tries streams again an hour after the server reported that it has none', () => {
    const { ways: way, pass } = ways();
    way.refused();
    expect(way.mayStream('a')).toBe(false);
    pass(HOUR_MS);
    expect(way.mayStream('a')).toBe(true);
  });
});

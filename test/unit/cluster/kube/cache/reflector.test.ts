import { describe, expect, onTestFinished, test } from 'vitest';
import { Reflector, type ReflectorOptions } from '../../../../../src/cluster/kube/cache/reflector.ts';
import type { KubeClient } from '../../../../../src/cluster/kube/client/client-types.ts';
import { systemClock } from '../../../../../src/cluster/kube/client/clock.ts';
import type { KubeObject, UntypedObject } from '../../../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../../../src/cluster/kube/client/resources.ts';
import { untilPasses } from '../../../until-passes.ts';
import { bareObject, type FakeApiServer } from '../fake-api-server.ts';
import { fakeServer, recordingLogger, watching } from '../support.ts';

interface Reported {
  added: string[];
  updated: string[];
  deleted: string[];
}

interface Setup {
  server: FakeApiServer;
  client: KubeClient;
  reflector: Reflector<UntypedObject>;
  reported: Reported;
  logger: ReturnType<typeof recordingLogger>;
}

async function setUp(
  options: Partial<ReflectorOptions<UntypedObject>> = {},
  prepare: (server: FakeApiServer) => void = () => {},
): Promise<Setup> {
  const { server, client } = await fakeServer();
  prepare(server);
  const logger = recordingLogger();
  const reflector = new Reflector<UntypedObject>({
    client,
    resource: RESOURCES.ConfigMap,
    logger,
    backoff: { baseMs: 1, capMs: 5 },
    // Nearly everything is compressed, so that these tests cover that, too.
    maxUncompressed: 1,
    ...options,
  });
  const reported: Reported = { added: [], updated: [], deleted: [] };
  reflector.addHandlers({
    added: (object) => reported.added.push(object.metadata.name),
    updated: (object) => reported.updated.push(object.metadata.name),
    deleted: (object) => reported.deleted.push(object.metadata.name),
  });
  reflector.start();
  onTestFinished(() => reflector.stop());
  return { server, client, reflector, reported, logger };
}

const names = (objects: KubeObject[]) => objects.map((object) => object.metadata.name).sort();

describe('the reflector', () => {
  test('lists in pages, then follows events', async () => {
    const s = await setUp({ pageSize: 2 }, (server) => {
      for (const name of ['a', 'b', 'c', 'd', 'e']) server.put(bareObject(name));
    });
    await watching(s);
    expect(names(s.reflector.store.list())).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(s.server.count('list')).toBe(3);
    expect(s.reflector.store.get('ns/a')).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });

    s.server.put(bareObject('f'));
    s.server.put(bareObject('a', { data: { changed: 'yes' } }));
    s.server.remove('ns/b');
    await untilPasses(() => expect(s.reported.deleted).toEqual(['b']));
    expect(s.reported.added.at(-1)).toBe('f');
    expect(s.reported.updated).toEqual(['a']);
    expect(s.reflector.store.get('ns/b')).toBeUndefined();
  });

  test('lists the most recent state, and requests bookmarks and a timeout for the watch', async () => {
    const s = await setUp({ watchSeconds: { min: 300, max: 600 }, random: () => 0.5 });
    await watching(s);
    const [list, watch] = s.server.requests;
    expect(list?.query.has('resourceVersion')).toBe(false);
    expect(watch?.query.get('allowWatchBookmarks')).toBe('true');
    expect(watch?.query.get('timeoutSeconds')).toBe('450');
    expect(watch?.query.get('resourceVersion')).toBe(s.server.version);
  });

  test('lists once without pages when a page token expires', async () => {
    const s = await setUp({ pageSize: 1 }, (server) => {
      server.put(bareObject('a'));
      server.put(bareObject('b'));
      server.intercept = ({ query }, response) => {
        if (!query.has('continue')) return false;
        response.writeHead(410).end(JSON.stringify({ kind: 'Status', code: 410, reason: 'Expired' }));
        return true;
      };
    });
    await watching(s);
    expect(names(s.reflector.store.list())).toEqual(['a', 'b']);
  });

  test('continues from the last version without a list when the watch ends regularly', async () => {
    const s = await setUp();
    await watching(s);
    s.server.put(bareObject('a'));
    await untilPasses(() => expect(s.reported.added).toEqual(['a']));
    s.server.endWatches();
    s.server.put(bareObject('b'));
    await untilPasses(() => expect(s.reported.added).toEqual(['a', 'b']));
    expect(s.server.count('list')).toBe(1);
    expect(s.reflector.stats()).toMatchObject({ watchRestarts: 1, lists: 1, errors: 0 });
  });

  test('continues a watch from the version of the last bookmark', async () => {
    const s = await setUp();
    await watching(s);
    s.server.version = '500';
    s.server.bookmark();
    await untilPasses(() => expect(s.reflector.stats().lastEventAt).toBeDefined());
    s.server.endWatches();
    await untilPasses(() => expect(s.server.requests.at(-1)?.query.get('resourceVersion')).toBe('500'));
    expect(s.reflector.stats().events).toBe(0);
  });

  test.each([
    ['drops managedFields', {}, {}],
    [
      'passes managedFields to a transform that drops them',
      {
        transform: (object: UntypedObject) => ({
          ...object,
          data: object.metadata.managedFields?.length,
          metadata: { ...object.metadata, managedFields: undefined },
        }),
      },
      { data: 1 },
    ],
  ])('%s', async (_name, options, expected) => {
    const s = await setUp(options, (server) => {
      const object = bareObject('a', { data: { big: 'text' } });
      server.put({ ...object, metadata: { ...object.metadata, managedFields: [{ manager: 'x' }] } });
    });
    await watching(s);
    expect(s.reflector.store.get('ns/a')).toMatchObject(expected);
    expect(s.reflector.store.get('ns/a')?.metadata.managedFields).toBeUndefined();
  });

  test('finds objects by owner and by label, also after they changed', async () => {
    const s = await setUp({
      indexes: {
        owner: ({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid),
        app: ({ metadata }) => Object.values(metadata.labels ?? {}),
      },
    });
    await watching(s);
    const owner = { apiVersion: 'v1', kind: 'X', name: 'o', uid: 'owner-1' };
    const make = (app: string) =>
      ({
        ...bareObject('a'),
        metadata: { name: 'a', namespace: 'ns', labels: { app }, ownerReferences: [owner] },
      }) as UntypedObject;
    s.server.put(make('one'));
    await untilPasses(() => expect(names(s.reflector.store.byIndex('owner', 'owner-1'))).toEqual(['a']));
    s.server.put(make('two'));
    await untilPasses(() => expect(names(s.reflector.store.byIndex('app', 'two'))).toEqual(['a']));
    expect(s.reflector.store.byIndex('app', 'one')).toEqual([]);
    s.server.remove('ns/a');
    await untilPasses(() => expect(s.reflector.store.byIndex('owner', 'owner-1')).toEqual([]));
    expect(() => s.reflector.store.byIndex('none', 'x')).toThrow('no index named none');
  });
});

describe('the reflector after a fault of the watch', () => {
  test.each([
    ['as HTTP status', { kind: 'status', code: 410, reason: 'Expired' }],
    ['as ERROR event', { kind: 'error-event', code: 410, reason: 'Expired' }],
  ] as const)('lists again after 410 %s, and reports deleted and new objects', async (_name, fault) => {
    const s = await setUp({}, (server) => {
      server.put(bareObject('stays'));
      server.put(bareObject('goes'));
      server.put(bareObject('made-again'));
    });
    await watching(s);
    s.server.watchFaults.push(fault);
    // No failure is reported until the next list, because the server has responded.
    let reported: string | undefined = 'nothing';
    s.server.intercept = ({ query }) => {
      if (query.get('watch') !== 'true') reported = s.reflector.stats().lastError;
      return false;
    };
    const before = s.reflector.stats().lastEventAt;
    s.server.bookmark();
    await untilPasses(() => expect(s.reflector.stats().lastEventAt).not.toEqual(before));
    s.server.endWatches();
    s.server.remove('ns/goes', { silently: true });
    s.server.remove('ns/made-again', { silently: true });
    s.server.put(bareObject('made-again'), { silently: true });
    s.server.put(bareObject('came'), { silently: true });
    await untilPasses(() => expect(s.reported.added).toContain('came'));
    expect(s.reported.deleted.sort()).toEqual(['goes', 'made-again']);
    expect(s.reported.added.filter((name) => name === 'made-again')).toHaveLength(2);
    expect(s.reported.updated).toEqual([]);
    expect(s.reflector.stats().lists).toBe(2);
    expect(reported).toBeUndefined();
    await untilPasses(() => expect(s.server.openWatches).toBe(1));
  });

  test('reports an event once when the stream is cut in the middle of its line', async () => {
    const s = await setUp();
    await watching(s);
    s.server.watchFaults.push({ kind: 'cut-mid-line' });
    s.server.cutWatches();
    s.server.put(bareObject('a', { data: { text: 'é'.repeat(2000) } }));
    await untilPasses(() => expect(s.reported.added).toEqual(['a']));
    expect(s.reflector.stats().errors).toBeGreaterThanOrEqual(1);
    expect(s.server.count('list')).toBe(1);
  });

  test('detects a blackholed watch by its silence, and reports the missed events', async () => {
    const s = await setUp({ idleTimeoutMs: 50 }, (server) => server.watchFaults.push({ kind: 'blackhole' }));
    await watching(s);
    s.server.put(bareObject('hidden'));
    await untilPasses(() => expect(s.reported.added).toEqual(['hidden']));
    expect(s.logger.lines.some(({ fields }) => JSON.stringify(fields).includes('no data for 50 ms'))).toBe(
      true,
    );
  });

  test.each([
    ['403', { kind: 'status', code: 403, reason: 'Forbidden' }],
    ['500', { kind: 'status', code: 500, reason: 'InternalError' }],
    ['503', { kind: 'status', code: 503, reason: 'ServiceUnavailable' }],
    ['an ERROR event of 500', { kind: 'error-event', code: 500, reason: 'InternalError' }],
    ['an immediate end', { kind: 'end-at-once' }],
  ] as const)('continues after %s eight times in a row', async (_name, fault) => {
    const s = await setUp({}, (server) => server.watchFaults.push(...Array.from({ length: 8 }, () => fault)));
    await s.reflector.waitForSync();
    await untilPasses(() => expect(s.server.openWatches).toBe(1));
    expect(s.server.count('watch')).toBe(9);
    s.server.put(bareObject('a'));
    await untilPasses(() => expect(s.reported.added).toEqual(['a']));
    expect(s.reflector.stats().lastError).toBeUndefined();
  });

  test('lists at growing intervals while the watch is rejected', async () => {
    const s = await setUp({}, (server) => {
      server.watchFaults.push(...Array.from({ length: 10 }, () => ({ kind: 'status' as const, code: 403 })));
    });
    await s.reflector.waitForSync();
    s.server.put(bareObject('a'), { silently: true });
    await untilPasses(() => expect(s.server.openWatches).toBe(1));
    expect(s.reported.added).toEqual(['a']);
    expect(s.server.count('list')).toBe(4);
    await untilPasses(() => expect(s.reflector.stats().lastError).toBeUndefined());
  });

  test('honours Retry-After', async () => {
    const s = await setUp({}, (server) => {
      let first = true;
      server.intercept = (_request, response) => {
        if (!first) return false;
        first = false;
        response.writeHead(429, { 'retry-after': '0.2' }).end(JSON.stringify({ kind: 'Status', code: 429 }));
        return true;
      };
    });
    await s.reflector.waitForSync();
    expect(s.logger.lines.find(({ level }) => level === 'warn')?.fields).toMatchObject({ delayMs: 200 });
  });

  test('restarts the watch after a line that is not JSON', async () => {
    const s = await setUp();
    await watching(s);
    s.server.sendRaw('this is no event\n');
    s.server.put(bareObject('a'));
    await untilPasses(() => expect(s.reported.added).toEqual(['a']));
  });

  test('logs an error of a handler, and calls the other handlers', async () => {
    const s = await setUp();
    await watching(s);
    s.reflector.addHandlers({
      added: () => {
        throw new Error('a bug');
      },
    });
    const after: string[] = [];
    s.reflector.addHandlers({ added: (object) => after.push(object.metadata.name) });
    s.server.put(bareObject('a'));
    s.server.put(bareObject('b'));
    await untilPasses(() => expect(after).toEqual(['a', 'b']));
    expect(s.reflector.stats().handlerErrors).toBe(2);
    expect(s.logger.lines.filter(({ level }) => level === 'error')).toHaveLength(2);
  });

  test('keeps the whole object when the transform throws', async () => {
    const s = await setUp({
      transform: () => {
        throw new Error('a bug');
      },
    });
    await watching(s);
    s.server.put(bareObject('a', { data: { x: 'y' } }));
    await untilPasses(() => expect(s.reflector.store.get('ns/a')).toHaveProperty('data'));
  });
});

describe('the reflector after a fault of the list', () => {
  test('keeps trying, logs the same failure once, and syncs when the server is back', async () => {
    let broken = true;
    const s = await setUp({}, (server) => {
      server.put(bareObject('a'));
      server.intercept = (_request, response) => {
        if (broken) response.destroy();
        return broken;
      };
    });
    await untilPasses(() => expect(s.reflector.stats().errors).toBeGreaterThan(4));
    expect(s.reflector.hasSynced()).toBe(false);
    expect(s.logger.lines.filter(({ level }) => level === 'warn').length).toBeLessThan(3);
    broken = false;
    await s.reflector.waitForSync();
    expect(s.reported.added).toEqual(['a']);
  });

  test('does not accept a list that is older than the known state at the first attempts', async () => {
    const s = await setUp({}, (server) => server.put(bareObject('a')));
    await watching(s);
    s.server.put(bareObject('b'));
    await untilPasses(() => expect(s.reported.added).toEqual(['a', 'b']));
    const b = s.server.objects.get('ns/b');
    let staleAnswers = 2;
    s.server.intercept = (request, response) => {
      if (request.method !== 'GET' || staleAnswers === 0) return false;
      staleAnswers -= 1;
      response.end(
        JSON.stringify({ metadata: { resourceVersion: '101' }, items: [s.server.objects.get('ns/a')] }),
      );
      return true;
    };
    s.server.watchFaults.push({ kind: 'status', code: 410, reason: 'Expired' });
    s.server.cutWatches();
    await untilPasses(() => expect(s.reflector.stats().lists).toBe(2));
    expect(s.reported.deleted).toEqual([]);
    expect(s.reflector.store.get('ns/b')?.metadata.uid).toBe(b?.metadata.uid);
  });

  test('accepts the older list of a server that was restored from a backup after several attempts', async () => {
    const s = await setUp({}, (server) => server.put(bareObject('a')));
    await watching(s);
    s.server.put(bareObject('lost'));
    await untilPasses(() => expect(s.reported.added).toEqual(['a', 'lost']));
    s.server.objects.delete('ns/lost');
    s.server.version = '101';
    s.server.watchFaults.push({ kind: 'status', code: 410, reason: 'Expired' });
    s.server.cutWatches();
    await untilPasses(() => expect(s.reported.deleted).toEqual(['lost']));
    s.server.put(bareObject('new'));
    await untilPasses(() => expect(s.reported.added).toContain('new'));
  });
});

describe('a repeated list', () => {
  test('keeps only the names of unchanged objects, and reports nothing about them', async () => {
    const s = await setUp({ relistEveryMs: 0, pageSize: 2 }, (server) => {
      for (const name of ['a', 'b', 'c', 'd']) server.put(bareObject(name));
    });
    await watching(s);
    expect(s.reported.added).toEqual(['a', 'b', 'c', 'd']);
    s.server.put(bareObject('b', { data: { changed: 'yes' } }));
    await untilPasses(() => expect(s.reported.updated).toEqual(['b']));
    s.server.remove('ns/c', { silently: true });
    s.server.endWatches();
    await untilPasses(() => expect(s.reflector.stats().lists).toBe(2));
    expect(s.reported).toEqual({ added: ['a', 'b', 'c', 'd'], updated: ['b'], deleted: ['c'] });
    expect(s.reflector.store.get('ns/a')).toEqual(s.server.objects.get('ns/a'));
  });

  test('starts over after an interruption, and reports objects that are gone as deleted', async () => {
    let lists = 0;
    const s = await setUp({ pageSize: 2 }, (server) => {
      for (const name of ['a', 'b', 'c', 'd']) server.put(bareObject(name));
      server.intercept = ({ query }, response) => {
        if (!query.has('continue')) lists += 1;
        else if (lists === 1) response.destroy();
        if (lists === 2) server.remove('ns/a');
        return query.has('continue') && lists === 1;
      };
    });
    await watching(s);
    expect(names(s.reflector.store.list())).toEqual(['b', 'c', 'd']);
    expect(s.reported).toMatchObject({ added: ['a', 'b', 'c', 'd'], deleted: ['a'] });
  });
});

test('the reflector accepts the list of a server that was restored during the first list, without further attempts', async () => {
  let lists = 0;
  const s = await setUp({ pageSize: 2 }, (server) => {
    for (const name of ['a', 'b', 'c', 'd']) server.put(bareObject(name, { data: { of: 'before' } }));
    server.intercept = ({ query }, response) => {
      if (!query.has('continue')) lists += 1;
      else if (lists === 1) response.destroy();
      if (lists !== 2 || query.has('continue')) return query.has('continue') && lists === 1;
      server.objects.clear();
      server.version = '10';
      for (const name of ['b', 'c']) server.put(bareObject(name, { data: { of: 'the backup' } }));
      server.compact();
      return false;
    };
  });
  await watching(s);
  expect(names(s.reflector.store.list())).toEqual(['b', 'c']);
  expect(s.reflector.store.get('ns/b')).toMatchObject({ data: { of: 'the backup' } });
  expect(s.reported.deleted).toContain('a');
});

describe('the reflector at start and stop', () => {
  test('sends every known object to handlers that are added late', async () => {
    const s = await setUp({}, (server) => server.put(bareObject('a')));
    await watching(s);
    const late: string[] = [];
    const remove = s.reflector.addHandlers({ added: (object) => late.push(object.metadata.name) });
    expect(late).toEqual(['a']);
    remove();
    s.server.put(bareObject('b'));
    await untilPasses(() => expect(s.reported.added).toEqual(['a', 'b']));
    expect(late).toEqual(['a']);
  });

  test('ends the watch on stop, and rejects the waits for the sync', async () => {
    const s = await setUp({}, (server) => {
      server.intercept = () => true;
    });
    const waiting = s.reflector.waitForSync();
    const stopped = s.reflector.stop();
    await expect(waiting).rejects.toMatchObject({ kind: 'aborted' });
    await stopped;
  });

  test('ends a wait for the sync when the signal fires', async () => {
    const s = await setUp({}, (server) => {
      server.intercept = () => true;
    });
    await expect(s.reflector.waitForSync(AbortSignal.timeout(10))).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });

  test('relists when the watch ends, if configured', async () => {
    const s = await setUp({ relistEveryMs: 0 });
    await watching(s);
    s.server.put(bareObject('lost-event'), { silently: true });
    s.server.put(bareObject('seen'));
    await untilPasses(() => expect(s.reported.added).toEqual(['seen']));
    s.server.endWatches();
    await untilPasses(() => expect(s.reported.added).toContain('lost-event'));
  });
});

describe('a lost event', () => {
  test('is compensated by a list when the watch ends and the last list is half an hour old', async () => {
    let later = 0;
    const s = await setUp({ clock: { ...systemClock, now: () => systemClock.now() + later } });
    await watching(s);
    s.server.put(bareObject('lost-event'), { silently: true });
    s.server.put(bareObject('seen'));
    await untilPasses(() => expect(s.reported.added).toEqual(['seen']));
    later = 29 * 60_000;
    s.server.endWatches();
    await watching(s);
    expect(s.reflector.stats().lists).toBe(1);
    later = 31 * 60_000;
    s.server.endWatches();
    await untilPasses(() => expect(s.reported.added).toContain('lost-event'));
    expect(s.reflector.stats().lists).toBe(2);
  });
});

describe('the reflector after an own write', () => {
  test('adds the response to a write to the cache at once, and recognizes its event', async () => {
    const s = await setUp();
    await watching(s);
    const echoes: boolean[] = [];
    s.reflector.addHandlers({
      updated: (object, old) => echoes.push(object.metadata.resourceVersion === old.metadata.resourceVersion),
    });
    const written = await s.client.create(bareObject('mine'));
    s.reflector.noteWrite(written);
    expect(s.reflector.isCurrent('ns/mine')).toBe(true);
    expect(s.reflector.store.get('ns/mine')?.metadata.uid).toBe(written.metadata.uid);
    await untilPasses(() => expect(s.reflector.stats().events).toBe(1));
    expect(s.reported.added.length + echoes.length).toBe(1);
  });

  test('is not current until the watch reaches a written object that its selector does not match', async () => {
    const s = await setUp({ labelSelector: 'app=x' });
    await watching(s);
    const inView = {
      ...bareObject('in-view'),
      metadata: { name: 'in-view', namespace: 'ns', labels: { app: 'x' } },
    };
    s.reflector.noteWrite(s.server.put(inView, { silently: true }));
    s.reflector.noteWrite(s.server.put(bareObject('outside'), { silently: true }));
    expect(names(s.reflector.store.list())).toEqual(['in-view']);
    expect(s.reflector.isCurrent('ns/in-view')).toBe(true);
    expect(s.reflector.isCurrent('ns/outside')).toBe(false);
    s.server.bookmark();
    await untilPasses(() => expect(s.reflector.isCurrent('ns/outside')).toBe(true));
  });

  test('ignores a response that arrives after its event and after the deletion of the object', async () => {
    const s = await setUp();
    await watching(s);
    const written = s.server.put(bareObject('mine'));
    s.server.remove('ns/mine');
    await untilPasses(() => expect(s.reported.deleted).toEqual(['mine']));
    s.reflector.noteWrite(written);
    expect(s.reflector.store.get('ns/mine')).toBeUndefined();
    expect(s.reflector.isCurrent('ns/mine')).toBe(true);
  });

  test('keeps a written object that an earlier list lacks', async () => {
    const s = await setUp();
    await watching(s);
    s.server.watchFaults.push({ kind: 'status', code: 410, reason: 'Expired' });
    s.server.intercept = (request, response) => {
      if (request.method !== 'GET') return false;
      s.server.intercept = () => false;
      const before = s.server.version;
      s.reflector.noteWrite(s.server.put(bareObject('mine')));
      response.end(JSON.stringify({ metadata: { resourceVersion: before }, items: [] }));
      return true;
    };
    s.server.cutWatches();
    await untilPasses(() => expect(s.reflector.stats().events).toBe(1));
    expect(s.reported.deleted).toEqual([]);
    expect(s.reflector.store.get('ns/mine')).toBeDefined();
  });

  test('is not current for a deleted object until the object is gone', async () => {
    const s = await setUp({}, (server) => server.put(bareObject('a')));
    await watching(s);
    const uid = s.reflector.store.get('ns/a')?.metadata.uid ?? '';
    s.reflector.noteDelete('ns/a', uid);
    expect(s.reflector.isCurrent('ns/a')).toBe(false);
    s.server.remove('ns/a');
    await untilPasses(() => expect(s.reflector.isCurrent('ns/a')).toBe(true));
    s.server.put(bareObject('a'));
    await untilPasses(() => expect(s.reported.added).toEqual(['a', 'a']));
    expect(s.reflector.isCurrent('ns/a')).toBe(true);
  });

  test('recovers from a lost event with a live read', async () => {
    const s = await setUp({}, (server) => server.put(bareObject('a')));
    await watching(s);
    s.server.put(bareObject('a', { data: { seen: 'no' } }), { silently: true });
    s.server.put(bareObject('b'), { silently: true });
    expect(await s.reflector.refresh({ namespace: 'ns', name: 'a' })).toMatchObject({ data: { seen: 'no' } });
    expect(await s.reflector.refresh({ namespace: 'ns', name: 'b' })).toBeDefined();
    s.server.remove('ns/a', { silently: true });
    expect(await s.reflector.refresh({ namespace: 'ns', name: 'a' })).toBeUndefined();
    expect(s.reported).toEqual({ added: ['a', 'b'], updated: ['a'], deleted: ['a'] });
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { ObservedRequest } from '../../../../../src/cluster/kube/client/client-types.ts';
import type { KubeObject } from '../../../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../../../src/cluster/kube/client/resources.ts';
import { untilPasses } from '../../../until-passes.ts';
import { bareObject, type ReceivedRequest, sendStatus } from '../fake-api-server.ts';
import { fakeServer } from '../support.ts';

const at = { namespace: 'ns', name: 'a' };

function query(request: ReceivedRequest | undefined): Record<string, string> {
  return Object.fromEntries(request?.query ?? []);
}

describe('the client', () => {
  test('creates, gets, finds, lists and deletes objects', async () => {
    const { server, client } = await fakeServer();
    const created = await client.create(bareObject('a', { data: { x: 'y' } }));
    expect(created.metadata.uid).toBeDefined();
    expect(await client.get(RESOURCES.ConfigMap, at)).toMatchObject({ data: { x: 'y' } });
    expect(await client.find(RESOURCES.ConfigMap, { ...at, name: 'none' })).toBeUndefined();
    await client.create(bareObject('b'));
    const page = await client.list(RESOURCES.ConfigMap, {
      namespace: 'ns',
      limit: 1,
      labelSelector: 'a=b,c in (d)',
    });
    expect(page).toMatchObject({
      items: [{ kind: 'ConfigMap' }],
      resourceVersion: server.version,
      continue: '1',
    });
    expect(query(server.requests.at(-1))).toEqual({ limit: '1', labelSelector: 'a=b,c in (d)' });
    expect((await client.listAll(RESOURCES.ConfigMap, { limit: 1 })).items).toHaveLength(2);
    await client.delete(RESOURCES.ConfigMap, at, {
      uid: 'u',
      resourceVersion: '5',
      propagationPolicy: 'Foreground',
    });
    expect(server.requests.at(-1)?.body).toEqual({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid: 'u', resourceVersion: '5' },
      propagationPolicy: 'Foreground',
    });
    await expect(client.get(RESOURCES.ConfigMap, at)).rejects.toMatchObject({ kind: 'not_found' });
  });

  test('reads no list that is larger than the caller allows', async () => {
    const { client } = await fakeServer();
    await client.create(bareObject('a', { data: { x: 'y'.repeat(200_000) } }));
    await client.create(bareObject('b'));
    const list = (maxBytes: number) => client.list(RESOURCES.ConfigMap, { namespace: 'ns', maxBytes });
    await expect(list(100_000)).rejects.toMatchObject({ kind: 'response_too_large', retryable: false });
    expect((await list(300_000)).items).toHaveLength(2);
  });

  test('applies objects server-side', async () => {
    const { server, client } = await fakeServer();
    server.put(bareObject('a'));
    await client.apply(bareObject('a'), { fieldManager: 'me' });
    expect(server.requests.at(-1)).toMatchObject({
      method: 'PATCH',
      path: '/api/v1/namespaces/ns/configmaps/a',
    });
    expect(query(server.requests.at(-1))).toEqual({
      fieldManager: 'me',
      force: 'true',
      fieldValidation: 'Strict',
    });
    await client.apply(bareObject('a'), { fieldManager: 'me', force: false, dryRun: true });
    expect(query(server.requests.at(-1))).toMatchObject({ force: 'false', dryRun: 'All' });
  });

  test('writes the status', async () => {
    const { server, client } = await fakeServer();
    const paths: string[] = [];
    server.intercept = ({ path, method }, response) => {
      paths.push(`${method} ${path}`);
      response.end('{}');
      return true;
    };
    const resource: KubeObject = {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ManagedDeployment',
      metadata: { ...at, resourceVersion: '1' },
    };
    await client.applyStatus(resource, { fieldManager: 'me' });
    await client.replaceStatus(resource);
    await client.patch(RESOURCES.ManagedDeployment, at, { status: {} }, { subresource: 'status' });
    const path = '/apis/berth.dev/v1alpha1/namespaces/ns/manageddeployments/a/status';
    expect(paths).toEqual([`PATCH ${path}`, `PUT ${path}`, `PATCH ${path}`]);
  });

  test('rejects a replacement without resourceVersion before it is sent', async () => {
    const { server, client } = await fakeServer();
    await expect(client.replace(bareObject('a'))).rejects.toMatchObject({ kind: 'bad_request' });
    expect(server.requests).toEqual([]);
  });

  test('sends the credentials', async () => {
    const { server, client } = await fakeServer();
    let headers = {};
    server.intercept = (_request, response) => {
      headers = response.req.headers;
      return false;
    };
    await client.find(RESOURCES.ConfigMap, at);
    expect(headers).toMatchObject({ authorization: 'Bearer a-token', 'user-agent': 'berth-test' });
  });

  test('keeps the query of raw calls', async () => {
    const { server, client } = await fakeServer();
    server.intercept = (_request, response) => {
      response.end(JSON.stringify({ major: '1', minor: '36', gitVersion: 'v1.36.3', platform: 'x' }));
      return true;
    };
    expect(await client.serverVersion()).toEqual({ major: '1', minor: '36', gitVersion: 'v1.36.3' });
    await client.request('GET', '/openapi/v3?x=1');
    expect(server.requests.at(-1)).toMatchObject({ path: '/openapi/v3' });
    expect(query(server.requests.at(-1))).toEqual({ x: '1' });
  });
});

describe('the client on a failure', () => {
  test('reports a missing response as a timeout', async () => {
    const { server, client } = await fakeServer();
    server.intercept = () => true;
    await expect(client.get(RESOURCES.ConfigMap, at, { timeoutMs: 30 })).rejects.toMatchObject({
      kind: 'timeout',
      retryable: true,
      message: 'failed to get ConfigMap ns/a: no response within 30 ms',
    });
  });

  test('starts the deadline of the server when the request is sent, not while the write waits for its turn', async () => {
    const { server, client } = await fakeServer({ maxWritesInFlight: 1, requestTimeoutMs: 2000 });
    const held: (() => void)[] = [];
    server.intercept = (_request, response) => {
      held.push(() => sendStatus(response, 409, 'AlreadyExists'));
      return true;
    };
    const names = ['a', 'b', 'c', 'd'];
    const all = Promise.allSettled(names.map((name) => client.create(bareObject(name))));
    for (const index of names.keys()) {
      await untilPasses(() => expect(held).toHaveLength(index + 1), { interval: 5 });
      // Four of these calls together exceed the deadline of one.
      await sleep(700);
      held[index]?.();
    }
    for (const one of await all) expect(one).toMatchObject({ reason: { kind: 'already_exists' } });
  });

  test('reports a response that stops half way as a timeout', async () => {
    const { server, client } = await fakeServer();
    server.intercept = (_request, response) => {
      response.writeHead(200).write('{"metadata":');
      return true;
    };
    await expect(client.get(RESOURCES.ConfigMap, at, { timeoutMs: 100 })).rejects.toMatchObject({
      kind: 'timeout',
    });
  });

  test('reports a response that is cut as a network failure', async () => {
    const { server, client } = await fakeServer();
    server.intercept = (_request, response) => {
      response.writeHead(200).write('{"metadata":', () => response.destroy());
      return true;
    };
    await expect(client.get(RESOURCES.ConfigMap, at)).rejects.toMatchObject({ kind: 'network' });
  });

  test('ends a call when the signal of the caller fires', async () => {
    const { server, client } = await fakeServer();
    const giveUp = new AbortController();
    server.intercept = () => {
      giveUp.abort();
      return true;
    };
    const call = client.get(RESOURCES.ConfigMap, at, { signal: giveUp.signal });
    await expect(call).rejects.toMatchObject({ kind: 'aborted' });
    await expect(client.get(RESOURCES.ConfigMap, at, { signal: giveUp.signal })).rejects.toMatchObject({
      kind: 'aborted',
    });
  });

  test('reports a server that does not exist', async () => {
    const { server, client } = await fakeServer();
    await server.stop();
    await expect(client.get(RESOURCES.ConfigMap, at)).rejects.toMatchObject({
      kind: 'network',
      message: expect.stringMatching(/^failed to get ConfigMap ns\/a: connect ECONNREFUSED/),
    });
    await server.start();
  });

  test.each([
    ['three seconds', () => '3', 3_000],
    // Relative to the time of the response, because earlier tests may be slow.
    ['a date', () => new Date(Date.now() + 10_000).toUTCString(), expect.closeTo(10_000, -4)],
    ['an hour as one minute', () => '3600', 60_000],
    ['a word as no time', () => 'soon', undefined],
  ])('reads a Retry-After of %s', async (_, value, expected) => {
    const { server, client } = await fakeServer();
    server.intercept = (_request, response) => {
      sendStatus(response, 429, 'TooManyRequests', { 'retry-after': value() });
      return true;
    };
    const error = await client.get(RESOURCES.ConfigMap, at).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'too_many_requests' });
    expect((error as { retryAfterMs?: number }).retryAfterMs).toEqual(expected);
  });

  test('keeps the text of a response that is not a Status, up to a limit', async () => {
    const { server, client } = await fakeServer();
    server.intercept = (_request, response) => {
      response.writeHead(502).end(`<html>${'x'.repeat(5_000)}`);
      return true;
    };
    const error = await client.get(RESOURCES.ConfigMap, at).catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ kind: 'server', status: 502 });
    expect((error as Error).message.length).toBeLessThan(600);
  });

  test('does not repeat the text in which the server quotes an unreadable Secret', async () => {
    const { server, client } = await fakeServer();
    server.intercept = (_request, response) => {
      response
        .writeHead(400)
        .end(JSON.stringify({ kind: 'Status', reason: 'BadRequest', message: 'cannot read hunter2' }));
      return true;
    };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: at, data: {} };
    await expect(client.create(secret)).rejects.toMatchObject({
      message: 'failed to create Secret ns/a: the server could not read the object',
      action: 'create Secret ns/a',
      resource: 'secrets',
    });
  });

  test('does not repeat the text in which a failing webhook quotes a Secret, as page or Status', async () => {
    const { server, client } = await fakeServer();
    const texts = [
      'cannot reach hunter2',
      JSON.stringify({ kind: 'Status', message: 'cannot reach hunter2' }),
    ];
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: at, data: {} };
    for (const text of texts) {
      server.intercept = (_request, response) => {
        response.writeHead(500).end(text);
        return true;
      };
      const error = await client.create(secret).catch((thrown: unknown) => thrown as Error);
      expect(error).toMatchObject({ kind: 'server', message: 'failed to create Secret ns/a: HTTP 500' });
    }
  });
});

describe('the client with an observer and limits', () => {
  test('reports every finished call once', async () => {
    const seen: ObservedRequest[] = [];
    const { server, client } = await fakeServer({ observer: (request) => seen.push(request) });
    await client.create(bareObject('a'));
    await client.apply(bareObject('a'), { fieldManager: 'me', dryRun: true });
    await client.find(RESOURCES.ConfigMap, { ...at, name: 'none' });
    await client
      .patch(RESOURCES.ConfigMap, { ...at, name: 'none' }, {}, { subresource: 'status' })
      .catch(() => {});
    expect(seen.map(({ verb, resource, status, dryRun }) => [verb, resource, status, dryRun])).toEqual([
      ['create', 'configmaps', 200, false],
      ['apply', 'configmaps', 200, true],
      ['get', 'configmaps', 404, false],
      ['patch', 'configmaps/status', 404, false],
    ]);
    expect(seen[0]?.path).toBe('/api/v1/namespaces/ns/configmaps');
    expect(seen.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'GET', 'PATCH']);
    expect(new Set(seen.map(({ host }) => host))).toEqual(new Set([new URL(server.url).host]));
    expect(seen.every(({ durationMs }) => durationMs > 0)).toBe(true);
  });

  test('makes writes beyond the limit wait for their turn, but not reads', async () => {
    const { server, client } = await fakeServer({ maxWritesInFlight: 2 });
    const held: (() => void)[] = [];
    let inFlight = 0;
    let most = 0;
    server.intercept = ({ method, body }, response) => {
      if (method === 'GET') return false;
      inFlight += 1;
      most = Math.max(most, inFlight);
      held.push(() => {
        inFlight -= 1;
        response.end(JSON.stringify(body));
      });
      if (held.length === 2) {
        setImmediate(() => {
          for (const release of held.splice(0)) release();
        });
      }
      return true;
    };
    await Promise.all([
      ...Array.from({ length: 10 }, (_value, index) => client.create(bareObject(`a${index}`))),
      client.find(RESOURCES.ConfigMap, at),
    ]);
    expect(most).toBe(2);
  });

  test('writes a lease at once, however many writes hang or were rejected', async () => {
    const { server, client } = await fakeServer({ maxWritesInFlight: 3 });
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'ns', name: 'lead' },
    };
    server.intercept = ({ body }, response) => {
      const name = (body as KubeObject).metadata.name ?? '';
      if (name.startsWith('refused')) sendStatus(response, 429, 'TooManyRequests', { 'retry-after': '30' });
      return name.startsWith('refused') || name.startsWith('hangs');
    };
    const hang = new AbortController();
    const crowd = ['hangs-1', 'hangs-2', 'hangs-3', 'hangs-4'].map((name) =>
      client.create(bareObject(name), { signal: hang.signal }),
    );
    await untilPasses(() => expect(server.count('POST')).toBe(3));
    const created = await client.create(lease, { timeoutMs: 1_000 });
    hang.abort();
    await Promise.allSettled(crowd);

    const names = ['refused-1', 'refused-2', 'refused-3'];
    await Promise.allSettled(names.map((name) => client.create(bareObject(name))));
    await expect(client.create(bareObject('waits'), { timeoutMs: 30 })).rejects.toMatchObject({
      kind: 'timeout',
    });
    await client.replace(created, { timeoutMs: 1_000 });
  });
});

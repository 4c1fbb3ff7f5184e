import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { lookUpImage } from '../../../../src/cluster/image-registry/look-up.ts';
import type { RegistryOptions } from '../../../../src/cluster/image-registry/repository-call.ts';

const DIGEST = `sha256:${'d'.repeat(64)}`;
const ANN = { username: 'ann', password: 'secret' };

interface Seen {
  method: string;
  url: string;
  authorization: string | undefined;
}
type Handler = (request: Seen, response: ServerResponse) => void;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A server on loopback with the given responses; `seen` contains the requests. */
async function serve(handler: Handler): Promise<{ host: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((message: IncomingMessage, response) => {
    const { method = '', url = '', headers } = message;
    const request = { method, url, authorization: headers.authorization };
    seen.push(request);
    handler(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const found: Handler = (_, response) => response.setHeader('docker-content-digest', DIGEST).end();
const answering =
  (status: number, body = '', headers: Record<string, string> = {}): Handler =>
  (_, response) =>
    response.writeHead(status, headers).end(body);
const code = (name: string) => JSON.stringify({ errors: [{ code: name }] });

const lookUp = (
  host: string,
  more: { image?: string; credentials?: (typeof ANN)[]; options?: Partial<RegistryOptions> } = {},
) =>
  lookUpImage(
    `${host}/${more.image ?? 'team/app:1'}`,
    more.credentials ?? [],
    { timeoutMs: 5_000, privateHosts: 'any', closedNetworks: [], insecureHosts: [host], ...more.options },
    new AbortController().signal,
  );

/** Requires a token, which `realm` issues only for ann's password. */
async function privateRegistry(inside: Handler = found) {
  const realm = await serve(({ authorization }, response) => {
    if (authorization === `Basic ${Buffer.from('ann:secret').toString('base64')}`)
      response.end(JSON.stringify({ token: 'good' }));
    else response.writeHead(401).end('{}');
  });
  const registry = await serve((request, response) => {
    if (request.authorization === 'Bearer good') return inside(request, response);
    const challenge = `Bearer realm="http://${realm.host}/token?a=b",service="registry"`;
    return response.writeHead(401, { 'www-authenticate': challenge }).end();
  });
  return { realm, registry };
}

describe('an existing image', () => {
  test('is found by one HEAD when the registry requires no login', async () => {
    const { host, seen } = await serve(found);
    expect(await lookUp(host)).toEqual({ kind: 'found', digest: DIGEST });
    expect(seen).toEqual([{ method: 'HEAD', url: '/v2/team/app/manifests/1', authorization: undefined }]);
  });

  test('has the digest of its manifest when the registry does not report one', async () => {
    const { host } = await serve(answering(200, '{"manifest": true}'));
    const digest = `sha256:${createHash('sha256').update('{"manifest": true}').digest('hex')}`;
    expect(await lookUp(host)).toEqual({ kind: 'found', digest });
  });

  test('is found with a token, which is requested with the password and for this repository only', async () => {
    const { realm, registry } = await privateRegistry();
    expect(await lookUp(registry.host, { credentials: [ANN] })).toEqual({ kind: 'found', digest: DIGEST });
    expect(realm.seen.map(({ url }) => url)).toEqual([
      '/token?a=b&service=registry&scope=repository%3Ateam%2Fapp%3Apull',
    ]);
    expect(registry.seen.map(({ authorization }) => authorization)).toEqual([undefined, 'Bearer good']);
  });

  test('is found with the second password when the first is rejected', async () => {
    const { registry } = await privateRegistry();
    const credentials = [{ username: 'bob', password: 'x' }, ANN];
    expect(await lookUp(registry.host, { credentials })).toMatchObject({ kind: 'found' });
  });

  test('is found with Basic authentication when the registry requires it', async () => {
    const { host, seen } = await serve((request, response) =>
      request.authorization === undefined
        ? answering(401, '', { 'www-authenticate': 'Basic realm="r"' })(request, response)
        : found(request, response),
    );
    expect(await lookUp(host, { credentials: [ANN] })).toMatchObject({ kind: 'found' });
    expect(seen[1]?.authorization).toBe(`Basic ${Buffer.from('ann:secret').toString('base64')}`);
  });

  test('is found behind a redirect, and no credential is sent to the other host', async () => {
    const other = await serve(found);
    const { registry } = await privateRegistry((_, response) =>
      response.writeHead(307, { location: `http://${other.host}/elsewhere` }).end(),
    );
    expect(await lookUp(registry.host, { credentials: [ANN] })).toMatchObject({ kind: 'found' });
    expect(other.seen).toEqual([{ method: 'HEAD', url: '/elsewhere', authorization: undefined }]);
  });
});

describe('a missing image', () => {
  test.each(['MANIFEST_UNKNOWN', 'NAME_UNKNOWN'])(
    'is definitely absent when an open registry returns %s',
    async (name) => {
      const { host } = await serve(answering(404, code(name)));
      expect(await lookUp(host)).toEqual({ kind: 'absent', definite: true });
    },
  );

  test('is definitely absent when the client was authenticated', async () => {
    const { registry } = await privateRegistry(answering(404, code('MANIFEST_UNKNOWN')));
    expect(await lookUp(registry.host, { credentials: [ANN] })).toEqual({ kind: 'absent', definite: true });
  });

  test('may exist when the registry reports it as unknown to an anonymous token', async () => {
    const realm = await serve(answering(200, '{"access_token": "of-a-stranger"}'));
    const { host } = await serve((request, response) =>
      request.authorization === undefined
        ? answering(401, '', { 'www-authenticate': `Bearer realm="http://${realm.host}"` })(request, response)
        : answering(404, code('MANIFEST_UNKNOWN'))(request, response),
    );
    expect(await lookUp(host)).toEqual({ kind: 'absent', definite: false });
  });

  test.each(['', 'not JSON', '{"errors": "none"}', '{"errors": [null]}', code('UNKNOWN')])(
    'may exist when the body of the 404 is %j',
    async (body) => {
      const { host } = await serve(answering(404, body));
      expect(await lookUp(host)).toEqual({ kind: 'absent', definite: false });
    },
  );
});

describe('an anonymous token', () => {
  /** A registry that gives anonymous clients a token, and shows them `tags`. */
  async function open(tags: Handler, body = code('MANIFEST_UNKNOWN')) {
    const realm = await serve(answering(200, '{"token": "of-a-stranger"}'));
    return await serve((request, response) => {
      const challenge = { 'www-authenticate': `Bearer realm="http://${realm.host}"` };
      if (request.authorization === undefined) return answering(401, '', challenge)(request, response);
      return (request.url.includes('/tags/list') ? tags : answering(404, body))(request, response);
    });
  }

  test.each(['MANIFEST_UNKNOWN', 'NOT_FOUND'])(
    'makes an absence with the code %s definite when the registry lists other tags of the repository',
    async (name) => {
      const { host, seen } = await open(answering(200, '{"tags": ["2"]}'), code(name));
      expect(await lookUp(host)).toEqual({ kind: 'absent', definite: true });
      expect(seen.at(-1)).toMatchObject({
        url: '/v2/team/app/tags/list?n=1',
        authorization: 'Bearer of-a-stranger',
      });
    },
  );

  test.each([
    ['has no tags', answering(200, '{"tags": null}'), code('MANIFEST_UNKNOWN')],
    ['is not found', answering(404, code('NAME_UNKNOWN')), code('MANIFEST_UNKNOWN')],
    ['cannot be listed', answering(500), code('MANIFEST_UNKNOWN')],
    ['is reported as unknown', answering(200, '{"tags": ["2"]}'), code('NAME_UNKNOWN')],
  ])('does not make an absence definite when the repository %s', async (_what, tags, body) => {
    const { host } = await open(tags, body);
    expect(await lookUp(host)).toEqual({ kind: 'absent', definite: false });
  });
});

describe('multiple credentials', () => {
  /** Requires Basic authentication, and responds by user name. */
  const by = (users: Record<string, Handler>) =>
    serve((request, response) => {
      const [user = ''] = Buffer.from((request.authorization ?? '').slice(6), 'base64')
        .toString()
        .split(':');
      const challenge = { 'www-authenticate': 'Basic realm="r"' };
      return (users[user] ?? answering(401, '', challenge))(request, response);
    });
  const names = (...users: string[]) => users.map((username) => ({ username, password: 'p' }));
  const absent = answering(404, code('NAME_UNKNOWN'));

  test('are all tried, because another account may see the image', async () => {
    const { host } = await by({ one: absent, two: found });
    expect(await lookUp(host, { credentials: names('one', 'two') })).toMatchObject({ kind: 'found' });
  });

  test.each([
    ['definite when all of them report it', names('one', 'one', 'two'), true],
    ['uncertain when one of them is rejected', names('one', 'nobody'), false],
    ['uncertain when one of them gets another response', names('one', 'vague'), false],
    [
      'uncertain when there are too many to try them all',
      names('one', ...Array.from({ length: 9 }, (_, n) => `u${n}`)),
      false,
    ],
  ])('make an absence %s', async (_what, credentials, definite) => {
    const users = Array.from({ length: 9 }, (_, n) => [`u${n}`, absent] as const);
    const { host } = await by({
      one: absent,
      two: absent,
      vague: answering(404),
      ...Object.fromEntries(users),
    });
    expect(await lookUp(host, { credentials })).toEqual({ kind: 'absent', definite });
  });
});

describe('a transient failure', () => {
  /** Responds with `handler` so many times before it responds normally. */
  const failing = (times: number, handler: Handler) => {
    let count = 0;
    return serve((request, response) => {
      count += 1;
      return (count > times ? found : handler)(request, response);
    });
  };

  test.each([
    ['a 503', answering(503)],
    ['a 503 with a Retry-After', answering(503, '', { 'retry-after': '1' })],
    ['a 429 with a Retry-After', answering(429, '', { 'retry-after': '1' })],
    ['a cut connection', ((_, response) => response.destroy()) as Handler],
  ])('is retried within the timeout after %s', async (_what, handler) => {
    const { host, seen } = await failing(1, handler);
    expect(await lookUp(host, { options: { timeoutMs: 60_000 } })).toMatchObject({ kind: 'found' });
    expect(seen).toHaveLength(2);
  });

  test.each([
    ['a 429 without a Retry-After', answering(429), 'limited'],
    ['a 503 with a Retry-After beyond the timeout', answering(503, '', { 'retry-after': '120' }), 'failing'],
  ])('is not retried after %s', async (_what, handler, kind) => {
    const { host, seen } = await failing(1, handler);
    await expect(lookUp(host, { options: { timeoutMs: 60_000 } })).rejects.toMatchObject({ kind });
    expect(seen).toHaveLength(1);
  });
});

describe('a registry that rejects HEAD', () => {
  const MANIFEST = '{"schemaVersion": 2}';
  const COMPUTED = `sha256:${createHash('sha256').update(MANIFEST).digest('hex')}`;
  /** Responds differently to HEAD and GET. */
  const byMethod =
    (head: Handler, get: Handler): Handler =>
    (request, response) =>
      (request.method === 'HEAD' ? head : get)(request, response);
  const methods = (seen: readonly Seen[]) => seen.map(({ method }) => method);

  test.each([400, 401, 403, 404, 405, 406, 410, 418, 500, 501])(
    'is called by GET when HEAD is answered with status %d',
    async (status) => {
      const { host, seen } = await serve(byMethod(answering(status), found));
      expect(await lookUp(host)).toEqual({ kind: 'found', digest: DIGEST });
      expect(methods(seen)).toEqual(['HEAD', 'GET']);
    },
  );

  test.each([
    ['cuts the connection of a HEAD', ((_, response) => response.destroy()) as Handler],
    ['answers a HEAD with 502', answering(502)],
    ['answers a HEAD with 503', answering(503)],
    ['redirects a HEAD to a closed port', answering(302, '', { location: 'http://127.0.0.1:1/' })],
  ])('is called by GET on the second attempt when it %s', async (_what, head) => {
    const { host, seen } = await serve(byMethod(head, found));
    expect(await lookUp(host, { options: { timeoutMs: 60_000 } })).toEqual({ kind: 'found', digest: DIGEST });
    expect(methods(seen)).toEqual(['HEAD', 'GET']);
  });

  test('is called by GET within the timeout when it does not answer a HEAD', async () => {
    const hangs: Handler = () => undefined;
    const { registry } = await privateRegistry(byMethod(hangs, found));
    const options = { timeoutMs: 2_000 };
    expect(await lookUp(registry.host, { credentials: [ANN], options })).toMatchObject({ kind: 'found' });
    expect(methods(registry.seen)).toEqual(['HEAD', 'HEAD', 'GET']);
    const open = await serve(byMethod(hangs, found));
    expect(await lookUp(open.host, { options })).toMatchObject({ kind: 'found' });
    expect(methods(open.seen)).toEqual(['HEAD', 'GET']);
  });

  test('is called by HEAD again when it limits requests', async () => {
    let count = 0;
    const limited = answering(429, '', { 'retry-after': '1' });
    const { host, seen } = await serve((request, response) => {
      count += 1;
      return (count === 1 ? limited : found)(request, response);
    });
    expect(await lookUp(host, { options: { timeoutMs: 60_000 } })).toMatchObject({ kind: 'found' });
    expect(methods(seen)).toEqual(['HEAD', 'HEAD']);
  });

  test('yields the digest of the manifest, without a further call, when the GET has no digest', async () => {
    const { host, seen } = await serve(byMethod(answering(405), answering(200, MANIFEST)));
    expect(await lookUp(host)).toEqual({ kind: 'found', digest: COMPUTED });
    expect(methods(seen)).toEqual(['HEAD', 'GET']);
  });

  test('yields the digest of the manifest when the HEAD has an invalid one', async () => {
    const odd = answering(200, '', { 'docker-content-digest': 'md5:1' });
    const { host } = await serve(byMethod(odd, answering(200, MANIFEST)));
    expect(await lookUp(host)).toEqual({ kind: 'found', digest: COMPUTED });
  });

  test('yields the digest of the reference when an image is looked up by digest', async () => {
    const { host } = await serve(byMethod(answering(405), answering(200, MANIFEST)));
    expect(await lookUp(host, { image: `team/app@${DIGEST}` })).toEqual({ kind: 'found', digest: DIGEST });
  });

  test.each([
    ['refuses a HEAD before it asks for credentials', byMethod(answering(405), found)],
    ['refuses a HEAD with a token', byMethod(answering(403), found)],
  ])('is called with the token when it %s', async (_what, inside) => {
    const { registry } = await privateRegistry(inside);
    expect(await lookUp(registry.host, { credentials: [ANN] })).toEqual({ kind: 'found', digest: DIGEST });
  });

  test('is called by GET for its challenge when the 401 of the HEAD has none', async () => {
    const challenge = answering(401, '', { 'www-authenticate': 'Basic realm="r"' });
    const { host, seen } = await serve((request, response) => {
      if (request.method === 'HEAD') return answering(401)(request, response);
      return (request.authorization === undefined ? challenge : found)(request, response);
    });
    expect(await lookUp(host, { credentials: [ANN] })).toEqual({ kind: 'found', digest: DIGEST });
    expect(methods(seen)).toEqual(['HEAD', 'GET', 'HEAD', 'GET']);
  });

  test('is called only once by each method when the GET is rejected too', async () => {
    const { host, seen } = await serve(answering(403));
    await expect(lookUp(host, { options: { timeoutMs: 60_000 } })).rejects.toMatchObject({ kind: 'refused' });
    expect(methods(seen)).toEqual(['HEAD', 'GET']);
  });

  test('yields a definite absence when the GET reports that the manifest is unknown', async () => {
    const { host, seen } = await serve(byMethod(answering(405), answering(404, code('MANIFEST_UNKNOWN'))));
    expect(await lookUp(host)).toEqual({ kind: 'absent', definite: true });
    expect(methods(seen)).toEqual(['HEAD', 'GET']);
  });

  test.each(['', '<html>log in</html>', '[]', '{}'])(
    'yields no digest when the body is %j, which is not a manifest',
    async (body) => {
      const { host } = await serve(byMethod(answering(405), answering(200, body)));
      await expect(lookUp(host)).rejects.toMatchObject({ kind: 'unsupported' });
    },
  );

  test('is not read beyond the maximum size of a manifest', async () => {
    const large = answering(200, JSON.stringify({ schemaVersion: 2, padding: 'x'.repeat(5 * 2 ** 20) }));
    const { host } = await serve(byMethod(answering(405), large));
    await expect(lookUp(host)).rejects.toMatchObject({ kind: 'unsupported' });
  });

  test.each([429, 502, 503, 504])(
    'is not called by GET when HEAD is answered with status %d',
    async (status) => {
      const later = answering(status, '', { 'retry-after': '120' });
      const { host, seen } = await serve(byMethod(later, found));
      await expect(lookUp(host)).rejects.toMatchObject({
        kind: expect.stringMatching(/^(limited|failing)$/),
      });
      expect(methods(seen)).toEqual(['HEAD']);
    },
  );
});

describe('a failed lookup', () => {
  /** In this time, the other servers respond also on a busy machine. */
  const LONG_ENOUGH_MS = 3_000;

  test('is reported after the timeout when the registry hangs', async () => {
    const { host } = await serve(() => undefined);
    const asked = lookUp(host, { options: { timeoutMs: 50 } });
    await expect(asked).rejects.toMatchObject({
      kind: 'unavailable',
      message: `${host} did not respond within 0.05 s`,
    });
  });

  test('is reported as slow after the same timeout when the token server hangs', async () => {
    const realm = await serve(() => undefined);
    const challenge = { 'www-authenticate': `Bearer realm="http://${realm.host}"` };
    const { host } = await serve(answering(401, '', challenge));
    const asked = lookUp(host, { options: { timeoutMs: LONG_ENOUGH_MS } });
    await expect(asked).rejects.toMatchObject({ kind: 'slow' });
  });

  test('is reported as slow for this image when the registry responds but does not finish', async () => {
    const { host } = await serve((request, response) => {
      if (request.method === 'HEAD') response.end();
      else response.write('{');
    });
    const asked = lookUp(host, { options: { timeoutMs: LONG_ENOUGH_MS } });
    await expect(asked).rejects.toMatchObject({ kind: 'slow' });
  });

  test('is reported as failing for this image when the registry cuts its responses', async () => {
    const { host } = await serve((request, response) => {
      if (request.method === 'HEAD') response.end();
      else response.write('{', () => response.destroy());
    });
    const asked = lookUp(host, { options: { timeoutMs: 200 } });
    await expect(asked).rejects.toMatchObject({ kind: expect.stringMatching(/^(failing|slow)$/) });
  });

  test('is reported when the registry does not exist', async () => {
    const asked = lookUp('127.0.0.1:1');
    await expect(asked).rejects.toMatchObject({
      kind: 'unavailable',
      message: '127.0.0.1:1 cannot be reached (ECONNREFUSED)',
    });
  });

  test.each([
    [503, {}, { kind: 'failing' }],
    [429, { 'retry-after': '7' }, { kind: 'limited', retryAfterMs: 7_000 }],
    [429, { 'retry-after': '99999' }, { kind: 'limited', retryAfterMs: 300_000 }],
    [401, {}, { kind: 'refused' }],
    [403, {}, { kind: 'refused' }],
    [418, {}, { kind: 'unsupported' }],
  ])('is reported for status %d with the headers %j', async (status, headers, error) => {
    const { host } = await serve(answering(status, '', headers));
    await expect(lookUp(host)).rejects.toMatchObject(error);
  });

  test('is reported for an endless manifest, an endless token and endless redirects', async () => {
    const endless: Handler = ({ method }, response) => {
      if (method === 'HEAD') return response.end();
      const write = () => {
        while (response.write('x'.repeat(65_536)));
      };
      response.on('drain', write).on('error', () => undefined);
      return write();
    };
    await expect(lookUp((await serve(endless)).host)).rejects.toMatchObject({ kind: 'unsupported' });
    const realm = await serve(endless);
    const challenge = { 'www-authenticate': `Bearer realm="http://${realm.host}"` };
    const asking = await serve(answering(401, '', challenge));
    await expect(lookUp(asking.host)).rejects.toMatchObject({ kind: 'unsupported' });
    const round = await serve(answering(302, '', { location: '/again' }));
    await expect(lookUp(round.host)).rejects.toMatchObject({ kind: 'unsupported' });
    expect(round.seen).toHaveLength(4);
  });

  test('is reported for a wrong password, without the password in the message', async () => {
    const { registry } = await privateRegistry();
    const asked = lookUp(registry.host, { credentials: [{ username: 'ann', password: 'wrong-one' }] });
    const error = await asked.then(
      () => undefined,
      (reason: Error) => reason,
    );
    expect(error).toMatchObject({ kind: 'refused' });
    expect(error?.message).not.toMatch(/wrong-one|ann/);
  });
});

describe('a lookup', () => {
  test('calls no private address that is not listed', async () => {
    const { host, seen } = await serve(found);
    await expect(lookUp(host, { options: { privateHosts: [] } })).rejects.toMatchObject({
      kind: 'forbidden',
    });
    const byName = host.replace('127.0.0.1', 'localhost');
    const options = { privateHosts: [], insecureHosts: [byName] };
    await expect(lookUp(byName, { options })).rejects.toMatchObject({ kind: 'forbidden' });
    expect(seen).toEqual([]);
    expect(await lookUp(host, { options: { privateHosts: [host] } })).toMatchObject({ kind: 'found' });
  });

  test('calls no registry in a closed network that is not listed', async () => {
    const closed = { privateHosts: [], closedNetworks: ['52.0.0.0/16'], insecureHosts: [] };
    await expect(lookUp('52.0.1.2:5000', { options: closed })).rejects.toMatchObject({ kind: 'forbidden' });
  });

  test('calls a registry over http only when it is listed', async () => {
    const { host, seen } = await serve(found);
    await expect(lookUp(host, { options: { insecureHosts: [] } })).rejects.toMatchObject({
      kind: 'unavailable',
    });
    expect(seen).toEqual([]);
  });

  test.each(['file:///etc/passwd', 'ftp://127.0.0.1/', 'no url'])(
    'does not follow a realm of %s',
    async (realm) => {
      const { host } = await serve(answering(401, '', { 'www-authenticate': `Bearer realm="${realm}"` }));
      await expect(lookUp(host, { credentials: [ANN] })).rejects.toMatchObject({ kind: 'unsupported' });
    },
  );
});

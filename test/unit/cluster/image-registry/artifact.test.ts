import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { hasArtifact, storeArtifact } from '../../../../src/cluster/image-registry/artifact.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(respond: RequestListener): Promise<string> {
  const server = createServer(respond);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A registry that has the manifest, and responds with this status to a HEAD of the blob. */
const registry = (status: number, location = '') =>
  serve((request, response) => {
    const isBlob = request.url === `/v2/team/app/blobs/${DIGEST}`;
    response.writeHead(isBlob ? status : 200, isBlob && location !== '' ? { location } : {}).end();
  });

const repositoryAt = (host: string) => ({
  repository: `${host}/team/app`,
  insecure: true,
  token: async () => 'token',
});
const { signal } = new AbortController();

const hasIt = (host: string) => hasArtifact(repositoryAt(host), { tag: 'sha256-a', digest: DIGEST }, signal);

/** A registry that keeps what is stored. @param disturb a status for a call, instead of its usual response */
async function keeping(disturb: (call: string) => number | undefined) {
  const kept = new Set<string>();
  const calls: string[] = [];
  const host = await serve((request, response) => {
    request.resume().once('end', () => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://registry');
      const path = searchParams.get('digest') ?? pathname.split('/').at(-1) ?? '';
      const call = `${request.method} ${path}`;
      calls.push(call);
      const status = disturb(call);
      if (status !== undefined) return void response.writeHead(status).end();
      if (request.method === 'HEAD') return void response.writeHead(kept.has(path) ? 200 : 404).end();
      if (request.method === 'PUT') kept.add(path);
      const location = '/v2/team/app/blobs/uploads/session';
      response.writeHead(request.method === 'PUT' ? 201 : 202, { location }).end();
    });
  });
  return { host, kept, calls };
}

async function* file() {
  yield Buffer.from('file');
}
const store = (host: string) =>
  storeArtifact(
    repositoryAt(host),
    { tag: 'sha256-a', digest: DIGEST, artifactType: 'application/x', mediaType: 'application/x' },
    file(),
    signal,
  );

describe('an artifact', () => {
  test.each([301, 302, 303, 307, 308])(
    'exists when the registry redirects its blob with status %d, and the redirect is not followed',
    async (status) => {
      let calls = 0;
      const store = await serve((_, response) => {
        calls += 1;
        response.end();
      });
      expect(await hasIt(await registry(status, `http://${store}/blob`))).toBe(true);
      expect(calls).toBe(0);
    },
  );

  test.each([
    [200, true],
    [404, false],
  ])('is found by the status %d of its blob', async (status, found) => {
    expect(await hasIt(await registry(status))).toBe(found);
  });

  test.each([
    [304, 'unsupported'],
    [403, 'refused'],
    [503, 'failing'],
  ])('causes an error when the status of its blob is %d', async (status, kind) => {
    await expect(hasIt(await registry(status))).rejects.toMatchObject({ kind });
  });

  test('is stored with its configuration, and what is stored already is not written again', async () => {
    const { host, kept, calls } = await keeping(() => undefined);
    expect(await store(host)).toBe(4);
    expect(kept).toEqual(new Set([DIGEST, expect.stringMatching(/^sha256:44136f/), 'sha256-a']));
    calls.length = 0;
    await store(host);
    expect(calls.filter((call) => call.startsWith('PUT'))).toEqual([]);
    expect(calls).toContain('DELETE session');
  });

  test.each([400, 500])('is stored when other uploads cause the status %d at first', async (status) => {
    const disturbed = new Set<string>();
    const { host, kept } = await keeping((call) => {
      if (!/^HEAD|sha256-a$/.test(call) || disturbed.has(call)) return undefined;
      disturbed.add(call);
      return status;
    });
    await store(host);
    expect([...disturbed]).toContain('PUT sha256-a');
    expect(kept).toContain('sha256-a');
  });

  test('is not stored when its manifest is rejected each time', async () => {
    const { host } = await keeping((call) => (call === 'PUT sha256-a' ? 400 : undefined));
    await expect(store(host)).rejects.toMatchObject({ kind: 'unsupported' });
  });
});

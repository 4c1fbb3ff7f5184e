import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { hasArtifact } from '../../../../src/cluster/image-registry/artifact.ts';

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

const hasIt = (host: string) =>
  hasArtifact(
    { repository: `${host}/team/app`, insecure: true, token: async () => 'token' },
    { tag: 'sha256-a', digest: DIGEST },
    new AbortController().signal,
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
});

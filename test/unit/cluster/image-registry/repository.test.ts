import { createHash } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { taggedImages } from '../../../../src/cluster/image-registry/repository.ts';

const MANIFEST = '{"schemaVersion": 2}';
const COMPUTED = `sha256:${createHash('sha256').update(MANIFEST).digest('hex')}`;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A registry with the tag `1`, which answers a HEAD of its manifest with `head`. */
async function registry(head: RequestListener, get: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url?.includes('/tags/list')) response.end('{"tags": ["1"]}');
    else (request.method === 'HEAD' ? head : get)(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}/team/app`;
}

const status =
  (code: number, body = ''): RequestListener =>
  (_, response) =>
    response.writeHead(code).end(body);

const imagesOf = (repository: string) =>
  taggedImages(
    { repository, insecure: true, token: async () => 'token' },
    () => true,
    new AbortController().signal,
  );

describe('the digest of a tag', () => {
  test.each([200, 403, 404, 405, 501])(
    'is computed by GET when HEAD returns status %d without it',
    async (code) => {
      const repository = await registry(status(code), status(200, MANIFEST));
      expect(await imagesOf(repository)).toEqual([{ tag: '1', digest: COMPUTED }]);
    },
  );

  test('is omitted when a GET does not find the tag either', async () => {
    expect(await imagesOf(await registry(status(404), status(404)))).toEqual([]);
  });

  test('causes an error when the GET is rejected', async () => {
    const repository = await registry(status(405), status(403));
    await expect(imagesOf(repository)).rejects.toMatchObject({ kind: 'refused' });
  });
});

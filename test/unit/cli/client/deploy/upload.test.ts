/** Uploads that are interrupted or rejected, against a server that answers like the API. */
import { describe, expect, test } from 'vitest';
import { command, type FakeAnswer } from '../fake-api.ts';
import { api, app, deployment, list, revision, UPLOAD, uploads } from './deploy-api.ts';

describe('an upload', () => {
  test.each<[string, FakeAnswer, string]>([
    ['the connection is cut off', 'cut off', '[^:]+'],
    ['the API is busy', [503, { detail: 'busy\n' }], '503: busy '],
    ['a gateway has no backend', [502, Buffer.from('<html>')], '502: The response contains no details\\.'],
    ['a gateway does not get a response', [504, Buffer.alloc(0)], '504: The response contains no details\\.'],
    ['the API waited too long', [408, { detail: 'late' }], '408: late'],
  ])('is repeated with the same bytes, and says why, when %s', async (_what, first, reason) => {
    const answers = [first];
    const { url, calls } = await api({ [UPLOAD]: () => answers.shift() ?? [201, revision()] });
    const { code, err } = await command(['deploy', 'shop', app(), '--no-wait'], { url });
    expect(code, err).toBe(0);
    const bodies = uploads(calls).map(({ body }) => (body as Buffer).toString('base64'));
    expect(bodies).toHaveLength(2);
    expect(new Set(bodies).size).toBe(1);
    expect(err.match(/^the upload failed .*$/gm)).toEqual([
      expect.stringMatching(`^the upload failed \\(${reason}\\); sending it again in 0\\.5 s$`),
    ]);
  });

  test('is repeated while the API stores the previous try, but not when it rejects the first one', async () => {
    const conflict: FakeAnswer = [409, { detail: 'The same upload is being stored.' }];
    const answers: FakeAnswer[] = ['cut off', conflict, [201, revision()], conflict];
    const { url, calls } = await api({ [UPLOAD]: () => answers.shift() });
    expect(await command(['deploy', 'shop', app(), '--no-wait'], { url })).toMatchObject({ code: 0 });
    expect(await command(['deploy', 'shop', app(), '--no-wait'], { url })).toMatchObject({ code: 1 });
    expect(uploads(calls)).toHaveLength(4);
  });

  test('is repeated after the pause that the API names when it removes the same upload', async () => {
    const conflict: FakeAnswer = [
      409,
      { detail: 'The same upload is being removed.' },
      { 'retry-after': '1' },
    ];
    const answers: FakeAnswer[] = [conflict, [201, revision()]];
    const { url, calls } = await api({ [UPLOAD]: () => answers.shift() });
    const { code, err } = await command(['deploy', 'shop', app(), '--no-wait'], { url });
    expect(code, err).toBe(0);
    expect(uploads(calls)).toHaveLength(2);
    expect(err).toContain(
      'the upload failed (409: The same upload is being removed.); sending it again in 1 s\n',
    );
  });

  test('ends with the exit code 3 when the API stays busy', async () => {
    const { url, calls } = await api({ [UPLOAD]: () => [503, { detail: 'busy' }] });
    expect(await command(['deploy', 'shop', app()], { url })).toMatchObject({ code: 3 });
    expect(uploads(calls)).toHaveLength(4);
  });

  test('is not repeated when the API rejects an entry, and names the entry', async () => {
    const detail = [{ loc: ['body', 'x/y'], msg: 'the entry is a device', type: 'entry_type' }];
    const { url, calls } = await api({ [UPLOAD]: () => [400, { detail }] });
    const { code, err } = await command(['deploy', 'shop', app()], { url });
    expect(code).toBe(1);
    expect(err).toContain('body.x/y: the entry is a device');
    expect(uploads(calls)).toHaveLength(1);
  });

  test.each([
    ['a page', Buffer.from('<html>413 Request Entity Too Large</html>')],
    ['nothing', Buffer.alloc(0)],
    ['a message of its own', { message: 'Request Too Long' }],
  ])('names the proxy and its limit when the proxy responds with 413 and %s', async (_what, body) => {
    const { url, calls } = await api({ [UPLOAD]: () => [413, body] });
    const { code, err } = await command(['deploy', 'shop', app()], { url });
    expect(code).toBe(1);
    expect(err).toMatch(
      /^berth: 413: a proxy before the API rejects requests of this size; next: ask the administrator .*proxy-body-size/m,
    );
    expect(uploads(calls)).toHaveLength(1);
  });

  test('names the limit of the API when the API responds with 413', async () => {
    const { url } = await api({ [UPLOAD]: () => [413, { detail: 'The body is larger than 64 MiB.' }] });
    const { err } = await command(['deploy', 'shop', app()], { url });
    expect(err).toMatch(/^berth: 413: The body is larger than 64 MiB\.$/m);
  });

  test('of the same folder creates no revision, and prints no log of a build that has ended', async () => {
    const { url, calls } = await api({
      'GET /v2/deployments': () => list(deployment()),
      [UPLOAD]: () => [200, revision({ status: 'DEPLOYED' })],
    });
    const { code, err } = await command(['deploy', 'shop', app()], { url });
    expect(code, err).toBe(0);
    expect(calls.filter(({ line }) => line.endsWith('/build-logs'))).toEqual([]);
    expect(err).toContain('revision 3 has the same files and settings, so no other one was created\n');
  });
});

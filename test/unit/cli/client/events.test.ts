/** `berth events` against a server that answers like the API. */
import { expect, test } from 'vitest';
import { command, fakeApi } from './fake-api.ts';

const event = (number: number) => ({
  id: `0196f0a0-5c1e-7b3a-9d51-0c4f6f1c${String(number).padStart(4, '0')}`,
  at: '2026-01-15T09:30:00.000Z',
  reason: 'Patched',
  message: `change ${number}`,
  actor: { kind: 'api_key', name: 'ci' },
  deployment_id: null,
});

/** An API with this number of stored events. It rejects what the API rejects. */
const api = (stored: number) =>
  fakeApi(({ query }) => {
    const [limit, offset] = [Number(query.get('limit') ?? 20), Number(query.get('offset') ?? 0)];
    if (limit > 100) return [422, { detail: [{ loc: ['query', 'limit'], msg: 'is too large' }] }];
    const all = Array.from({ length: stored }, (_, index) => event(stored - index));
    const resources = all.slice(offset, offset + limit);
    const isLast = offset + limit >= stored;
    return [200, { resources, offset: offset + resources.length, cursor: isLast ? null : 'next' }];
  });

const CUT = /^only the newest (\d+) events are shown; next: --limit N shows more\n$/;

test.each([
  [101, [], 100],
  [101, ['--since', '3d'], 100],
  [350, ['--limit', '250'], 250],
])('says that there are more when %i events are stored and %j is given', async (stored, more, shown) => {
  const { url } = await api(stored);
  const { code, out, err } = await command(['events', '-o', 'json', ...more], { url });
  expect({ code, count: (JSON.parse(out) as unknown[]).length }).toEqual({ code: 0, count: shown });
  expect(CUT.exec(err)?.[1]).toBe(String(shown));
});

test.each([
  [0, []],
  [100, ['--since', '3d']],
  [200, ['--limit', '200']],
])('says nothing when all of %i events are shown: %j', async (stored, more) => {
  const { url } = await api(stored);
  expect(await command(['events', ...more], { url })).toMatchObject({ code: 0, err: '' });
});

/** The limit of the first request of a stream. The server rejects it, so that the command ends. */
async function limitOfStream(...words: string[]): Promise<string | null> {
  const { url, calls } = await fakeApi(() => [403, { detail: 'No.' }]);
  expect(await command(['events', '--follow', ...words], { url })).toMatchObject({ code: 1 });
  return calls[0]?.query.get('limit') ?? null;
}

test('follow begins with the newest 100 events, or with all since a time, or with as many as --limit says', async () => {
  expect(await limitOfStream()).toBe('100');
  expect(await limitOfStream('--since', '3d')).toBeNull();
  expect(await limitOfStream('--since', '3d', '--limit', '5')).toBe('5');
});

test('follow rejects a limit that the API would reject, before it sends a request', async () => {
  const { url, calls } = await api(0);
  const { code, err } = await command(['events', '--follow', '--limit', '200'], { url });
  expect(code).toBe(2);
  expect(err).toBe(
    'berth: --limit must be at most 100 with --follow: use --since without --limit to begin with older events; see berth events --help\n',
  );
  expect(calls).toEqual([]);
});

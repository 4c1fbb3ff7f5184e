import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { objectAnswer } from '../../../../../src/hub/api/objects/object-answers.ts';
import { ObjectSharing, type ReadResult } from '../../../../../src/hub/api/objects/object-sharing.ts';
import { SharedReads } from '../../../../../src/hub/api/objects/shared-reads.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('shares a read with concurrent calls and for a second, but not its failure', async () => {
  let reads = 0;
  const shared = new SharedReads<number>({ sizeOf: () => 1 });
  const read = () => {
    reads += 1;
    return reads === 3 ? Promise.reject(new Error('away')) : Promise.resolve(reads);
  };
  expect(await Promise.all([shared.get('a', read), shared.get('a', read)])).toEqual([1, 1]);
  vi.advanceTimersByTime(999);
  expect(await shared.get('a', read)).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await shared.get('a', read)).toBe(2);
  await expect(shared.get('b', read)).rejects.toThrow('away');
  expect(await shared.get('b', read)).toBe(4);
});

test('frees a result after a second when it is not read again', async () => {
  const shared = new SharedReads<string>({ sizeOf: ({ length }) => length });
  await shared.get('a', async () => 'xxxx');
  await shared.get('b', async () => 'xx');
  expect(shared.kept).toEqual({ results: 2, characters: 6 });
  vi.advanceTimersByTime(1_000);
  expect(shared.kept).toEqual({ results: 0, characters: 0 });
});

test('frees the oldest results when all together are too large, and none that is being read', async () => {
  const shared = new SharedReads<string>({ sizeOf: ({ length }) => length, maxCharacters: 10 });
  let finish = (_text: string) => {};
  const pending = shared.get('pending', () => new Promise<string>((resolve) => (finish = resolve)));
  for (const key of ['a', 'b', 'c']) await shared.get(key, async () => 'xxxx');
  expect(shared.kept).toEqual({ results: 3, characters: 8 });
  const again = vi.fn(async () => 'xxxx');
  await shared.get('c', again);
  expect(again).not.toHaveBeenCalled();
  await shared.get('a', again);
  expect(again).toHaveBeenCalledOnce();
  finish('x'.repeat(11));
  await pending;
  expect(shared.kept).toEqual({ results: 2, characters: 8 });
});

const resultOf = () => ({ read: {}, characters: 1, hadReferences: false }) as ReadResult;
const mask = (text: string) => text;

test('renders once for callers that see the same, and shares no text with others', async () => {
  const sharing = new ObjectSharing();
  const [result, other] = [resultOf(), resultOf()];
  let count = 0;
  const render = async () => `text ${++count}`;
  const text = (of: ReadResult, withholds: boolean, how = mask) =>
    sharing.text(of, { mask: how, withholds }, render);
  expect(await Promise.all([text(result, true), text(result, true)])).toEqual(['text 1', 'text 1']);
  expect(await text(result, false)).toBe('text 2');
  expect(await text(result, true, (given) => `${given}.`)).toBe('text 3');
  expect(await text(other, true)).toBe('text 4');
  expect(await text(result, true)).toBe('text 1');
  vi.advanceTimersByTime(1_000);
  expect(await text(result, true)).toBe('text 5');
});

test('lets other requests run while it writes a large manifest', async () => {
  vi.useRealTimers();
  const env = Array.from({ length: 5_000 }, (_, at) => ({ name: `A_${at}`, value: `value ${at}` }));
  const object = { kind: 'Pod', name: 'a', message: null } as never;
  const manifest = JSON.stringify({ kind: 'Pod', spec: { containers: [{ env }] } });
  let turns = 0;
  const timer = setInterval(() => (turns += 1));
  // A slow mask, such as that of a deployment with many secrets.
  const slow = (text: string) => {
    for (const until = performance.now() + 0.02; performance.now() < until; );
    return text;
  };
  const { yaml } = await objectAnswer(
    { object, events: [], unread: [], manifest },
    { mask: slow, withholds: false },
  );
  clearInterval(timer);
  expect(yaml).toMatch(/- name: A_4999\n {10}value: value 4999\n$/);
  expect(turns).toBeGreaterThan(3);
});

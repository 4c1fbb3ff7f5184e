import { expect, test } from 'vitest';
import { LONGEST_LINE, LogLines } from '../../../../../src/cluster/kube/client/log-lines.ts';

const START = '2026-01-01T00:00:00Z';
const TIME = '2026-11-21T19:00:00.123456789Z';

function cut(chunks: readonly (string | Buffer)[], more: { end?: boolean } = {}) {
  const lines = new LogLines(START);
  const found = chunks.flatMap((chunk) => lines.push(Buffer.from(chunk)));
  return more.end === false ? found : [...found, ...lines.end()];
}

test('each line has its timestamp', () => {
  expect(cut([`${TIME} one\n${TIME} two words \n${TIME} \n`])).toEqual([
    { at: TIME, text: 'one' },
    { at: TIME, text: 'two words ' },
    { at: TIME, text: '' },
  ]);
  expect(cut(['2026-11-21T19:00:00+01:00 x\n'])).toEqual([{ at: '2026-11-21T19:00:00+01:00', text: 'x' }]);
});

test('a line without a timestamp has that of the previous line', () => {
  expect(cut([`the kubelet says\n${TIME} one\nwhat now\n`])).toEqual([
    { at: START, text: 'the kubelet says' },
    { at: TIME, text: 'one' },
    { at: TIME, text: 'what now' },
  ]);
});

test('a line is returned when it is complete, and the last one when the log has ended', () => {
  const text = `${TIME} one\n${TIME} tw`;
  expect(cut([text], { end: false })).toEqual([{ at: TIME, text: 'one' }]);
  expect(cut([text])).toEqual([
    { at: TIME, text: 'one' },
    { at: TIME, text: 'tw', isOpen: true },
  ]);
  expect(cut([''])).toEqual([]);
});

test('carriage returns are removed at line ends, but kept within lines', () => {
  expect(cut([`${TIME} 10%\r20%\r\n`])).toEqual([{ at: TIME, text: '10%\r20%' }]);
});

test('the lines are the same wherever chunks end, even within a timestamp or a character', () => {
  const long = 'ä🚢'.repeat(LONGEST_LINE);
  const bytes = Buffer.from(`${TIME} grün 🚢 漢字\n${TIME} ${long}\n${TIME} x`);
  const whole = cut([bytes]);
  expect(whole[0]).toEqual({ at: TIME, text: 'grün 🚢 漢字' });
  expect(whole.at(-1)).toEqual({ at: TIME, text: 'x', isOpen: true });
  for (const size of [1, 2, 3, 7, 1000, LONGEST_LINE, LONGEST_LINE + 29]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    expect(cut(chunks), `chunks of ${size}`).toEqual(whole);
  }
});

test('a very long line is split with marked cuts, without halving a character or losing text', () => {
  const long = `x${'🚢'.repeat(LONGEST_LINE)}`;
  const parts = cut([`${TIME} ${long}\n${TIME} next\n`]);
  expect(parts.length).toBeGreaterThan(3);
  expect(parts.pop()).toEqual({ at: TIME, text: 'next' });
  expect(parts.every(({ at, text }) => at === TIME && text.isWellFormed())).toBe(true);
  expect(parts.every(({ text }) => text.length <= LONGEST_LINE + 2)).toBe(true);
  expect(parts.map(({ text }) => text.replaceAll('…', '')).join('')).toBe(long);
  expect(parts.map(({ text }) => [text.startsWith('…'), text.endsWith('…')])).toEqual([
    [false, true],
    ...parts.slice(2).map(() => [true, true]),
    [true, false],
  ]);
});

test('a log without line ends does not accumulate in memory', () => {
  const lines = new LogLines(START);
  let count = 0;
  for (let index = 0; index < 1000; index += 1) count += lines.push(Buffer.alloc(LONGEST_LINE, 'a')).length;
  expect(count).toBeGreaterThan(990);
});

test('a line of exactly the maximum length is not split', () => {
  expect(cut([`${TIME} ${'a'.repeat(LONGEST_LINE)}\n`])).toHaveLength(1);
  expect(cut([`${TIME} ${'a'.repeat(LONGEST_LINE + 1)}\n`])).toHaveLength(2);
});

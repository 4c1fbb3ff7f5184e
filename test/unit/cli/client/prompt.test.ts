import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { hidden } from '../../../../src/cli/client/terminal/prompt.ts';

/** A terminal that sends these chunks. */
function terminal(...chunks: string[]) {
  const modes: boolean[] = [];
  const input = Object.assign(new EventEmitter(), {
    setRawMode: (mode: boolean) => void modes.push(mode),
    setEncoding: () => undefined,
    pause: () => undefined,
    resume: () => {
      for (const chunk of chunks) queueMicrotask(() => input.emit('data', chunk));
    },
  });
  const written: string[] = [];
  const output = { write: (text: string) => void written.push(text) };
  const answer = hidden('Key: ', input as never, output as never);
  return { answer, modes, written };
}

test.each([
  [['abc\r'], 'abc'],
  [['ab', 'c', '\n'], 'abc'],
  [['abX\u007fc\r'], 'abc'],
  [['wrong\u0015abc\r'], 'abc'],
  [['a\tb\u001bc\r'], 'abc'],
  [['abc\u0004'], 'abc'],
  [['\r'], ''],
])('reads %j as %j, and shows nothing of it', async (chunks, expected) => {
  const { answer, modes, written } = terminal(...chunks);
  expect(await answer).toBe(expected);
  expect(modes).toEqual([true, false]);
  expect(written).toEqual(['Key: ', '\n']);
});

test('ends the raw mode when the user presses Ctrl-C', async () => {
  const { answer, modes } = terminal('abc', '\u0003');
  await expect(answer).rejects.toThrow('interrupted');
  expect(modes).toEqual([true, false]);
});

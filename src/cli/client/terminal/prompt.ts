import type { ReadStream, WriteStream } from 'node:tty';
import { Interrupted } from '../exit-codes.ts';

/** Prompts on a terminal. */

type Input = Pick<ReadStream, 'setRawMode' | 'resume' | 'pause' | 'on' | 'removeListener' | 'setEncoding'>;

// biome-ignore lint/suspicious/noControlCharactersInRegex: Ctrl-D ends the input
const END = /[\r\n\u0004]/;

/** What was typed, after a backspace and line control are applied. Other control characters are dropped. */
function typed(before: string, characters: string): string {
  let line = before;
  for (const character of characters) {
    if (character === '\u007f' || character === '\b') line = line.slice(0, -1);
    else if (character === '\u0015') line = '';
    else if (character >= ' ') line += character;
  }
  return line;
}

/**
 * Reads a line without echo. The terminal is in raw mode until the line ends, so that nothing is shown.
 * @throws Interrupted after Ctrl-C
 */
export async function hidden(
  question: string,
  input: Input = process.stdin,
  output: Pick<WriteStream, 'write'> = process.stderr,
): Promise<string> {
  output.write(question);
  input.setRawMode(true);
  input.setEncoding('utf8');
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let line = '';
  const onData = (data: string) => {
    const [now = ''] = data.split(END, 1);
    if (data.includes('\u0003')) return reject(new Interrupted());
    line = typed(line, now);
    if (now.length < data.length) resolve(line);
  };
  const onEnd = () => resolve(line);
  input.on('data', onData);
  input.on('end', onEnd);
  input.resume();
  try {
    return await promise;
  } finally {
    input.removeListener('data', onData);
    input.removeListener('end', onEnd);
    input.setRawMode(false);
    input.pause();
    output.write('\n');
  }
}

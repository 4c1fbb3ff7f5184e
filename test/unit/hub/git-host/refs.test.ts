import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RefReader } from '../../../../src/hub/git-host/refs.ts';

const [A, B] = ['a'.repeat(40), 'b'.repeat(40)];

function read(...chunks: (string | Buffer)[]): RefReader {
  const refs = new RefReader();
  for (const chunk of chunks) refs.add(Buffer.from(chunk));
  return refs;
}

const LIST = `@refs/heads/main HEAD\n${A} refs/heads/main\n${B} refs/heads/main-2\n${B} refs/heads/größe\n${B} refs/tags/v1\n\n`;

describe('the refs that git lists', () => {
  test.each([
    [null, { branch: 'main', commit: A }],
    ['main', { branch: 'main', commit: A }],
    ['main-2', { branch: 'main-2', commit: B }],
    ['größe', { branch: 'größe', commit: B }],
    ['mai', null],
    ['HEAD', null],
    ['v1', null],
  ])('have the commit of branch %s: %j', (branch, expected) => {
    expect(read(LIST).head(branch)).toEqual(expected);
  });

  test('are the same wherever the output is divided', () => {
    const bytes = Buffer.from(LIST);
    fc.assert(
      fc.property(fc.nat(bytes.length), fc.nat(bytes.length), (one, two) => {
        const [first, second] = [Math.min(one, two), Math.max(one, two)];
        const refs = read(bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second));
        expect(refs.head(null)).toEqual({ branch: 'main', commit: A });
        expect(refs.head('größe')).toEqual({ branch: 'größe', commit: B });
      }),
    );
  });

  test('include a default branch that is listed before HEAD', () => {
    expect(read(`${A} refs/heads/trunk\n@refs/heads/trunk HEAD\n\n`).head(null)).toEqual({
      branch: 'trunk',
      commit: A,
    });
  });

  test('have no default branch when the repository is empty, HEAD is a commit, or HEAD is another ref', () => {
    for (const list of [
      '\n',
      `${A} HEAD\n${A} refs/heads/main\n\n`,
      `@refs/tags/v1 HEAD\n${A} refs/tags/v1\n\n`,
    ])
      expect(read(list).head(null), list).toBeNull();
  });

  test('include no value that is not a commit, and no output causes an error', () => {
    for (const value of ['?', 'abc', '-'.repeat(40), `@refs/heads/x`])
      expect(read(`${value} refs/heads/main\n\n`).head('main'), value).toBeNull();
    fc.assert(
      fc.property(fc.uint8Array(), fc.option(fc.string()), (bytes, branch) => {
        expect(read(Buffer.from(bytes)).head(branch)).toBeNull();
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DELIMITER, FLUSH, packet, packetsOf, textOf } from '../../../../src/hub/git-host/pkt-line.ts';
import { headOf, lsRefsRequest, readAdvertisement, readRefs } from '../../../../src/hub/git-host/refs.ts';

const [A, B] = ['a'.repeat(40), 'b'.repeat(40)];
const message = (...lines: (string | Buffer)[]) =>
  Buffer.concat(lines.map((line) => (typeof line === 'string' ? packet(line) : line)));

describe('packets', () => {
  test('are read as they were written', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.constant(FLUSH), fc.constant(DELIMITER))), (sent) => {
        const read = packetsOf(message(...sent));
        expect(read?.map((each) => (Buffer.isBuffer(each) ? textOf(each) : each))).toEqual(
          sent.map((each) => (each === FLUSH ? 'flush' : each === DELIMITER ? 'delimiter' : each)),
        );
      }),
    );
  });

  test('are rejected when one is cut, and no input causes an exception', () => {
    const whole = message('one', FLUSH, 'three');
    const ends = new Set([0, 8, 12, whole.length]);
    for (let length = 0; length <= whole.length; length += 1)
      expect(packetsOf(whole.subarray(0, length)) !== null, `${length}`).toBe(ends.has(length));
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void packetsOf(Buffer.from(bytes))));
    for (const wrong of ['0003', '00zz', '-001', '<html>']) expect(packetsOf(Buffer.from(wrong))).toBeNull();
  });

  test('are not written when one is too long', () => {
    expect(() => packet('x'.repeat(70_000))).toThrow(RangeError);
  });
});

describe('the first response of a server', () => {
  const service = '# service=git-upload-pack';
  test('is read in version 2, with and without the line of the service', () => {
    const capabilities = ['version 2', 'agent=git/2', 'ls-refs=unborn', 'object-format=sha256'];
    const expected = { version: 2, objectFormat: 'sha256' };
    expect(readAdvertisement(message(service, FLUSH, ...capabilities, FLUSH))).toEqual(expected);
    expect(readAdvertisement(message(...capabilities, FLUSH))).toEqual(expected);
    expect(readAdvertisement(message('version 2', FLUSH))).toEqual({ version: 2, objectFormat: null });
  });

  test('contains the refs in earlier versions', () => {
    const answer = message(
      service,
      FLUSH,
      `${A} HEAD\u0000multi_ack symref=HEAD:refs/heads/trunk agent=git/1`,
      `${A} refs/heads/trunk`,
      `${B} refs/heads/next`,
      FLUSH,
    );
    const read = readAdvertisement(answer);
    if (read?.version !== 1) throw new Error('it is of version 1');
    expect(headOf(read.refs, null)).toEqual({ branch: 'trunk', commit: A });
    expect(headOf(read.refs, 'next')).toEqual({ branch: 'next', commit: B });
  });

  test.each(['', '<html></html>', '001e# service=git-receive-pack\n', '0000'])(
    'is rejected when it is %j',
    (text) => {
      expect(readAdvertisement(Buffer.from(text))).toBeNull();
    },
  );
});

describe('refs', () => {
  test('are requested by name', () => {
    const asked = packetsOf(lsRefsRequest([null, 'main', 'main'], 'sha1'));
    expect(asked?.map((each) => (Buffer.isBuffer(each) ? textOf(each) : each))).toEqual([
      'command=ls-refs',
      'object-format=sha1',
      'delimiter',
      'symrefs',
      'ref-prefix HEAD',
      'ref-prefix refs/heads/main',
      'flush',
    ]);
  });

  const refs = readRefs(
    message(
      `${A} HEAD symref-target:refs/heads/main`,
      `${A} refs/heads/main`,
      `${B} refs/heads/main-2`,
      FLUSH,
    ),
  );
  test.each([
    [null, { branch: 'main', commit: A }],
    ['main', { branch: 'main', commit: A }],
    ['main-2', { branch: 'main-2', commit: B }],
    ['mai', null],
    ['HEAD', null],
  ])('contain the head of %s: %j', (branch, expected) => {
    expect(refs && headOf(refs, branch)).toEqual(expected);
  });

  test('contain no head when the repository is empty or its HEAD is not a branch', () => {
    for (const lines of [[], [`${A} HEAD`], ['unborn HEAD symref-target:refs/heads/main']]) {
      const read = readRefs(message(...lines, FLUSH));
      expect(read && headOf(read, null), JSON.stringify(lines)).toBeNull();
    }
  });

  test('are not read from an error, a truncated response or other data', () => {
    for (const answer of [
      message('ERR no', FLUSH),
      message(`${A} HEAD`),
      Buffer.from('<html>'),
      Buffer.alloc(0),
    ])
      expect(readRefs(answer)).toBeNull();
  });
});

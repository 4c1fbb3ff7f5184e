import { describe, expect, test } from 'vitest';
import {
  contentDigest,
  taggedUpload,
  uploadSchema,
  uploadTag,
} from '../../../../src/domain/uploads/upload.ts';

const HEX = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const BASE64 = Buffer.from(HEX, 'hex').toString('base64');

describe('Content-Digest', () => {
  test('is read when it contains a SHA-256, also among other algorithms', () => {
    expect(contentDigest(`sha-256=:${BASE64}:`)).toBe(`sha256:${HEX}`);
    expect(contentDigest(`sha-512=:AAAA:, sha-256=:${BASE64}:`)).toBe(`sha256:${HEX}`);
  });
  test.each([
    '',
    'sha-512=:AAAA:',
    `sha-256=${BASE64}`,
    `sha-256=:${HEX}:`,
    'sha-256=:AAAA:',
    `sha-256=:${BASE64}:, sha-256=:${BASE64}:`,
  ])('is rejected when it is %j', (header) => {
    expect(contentDigest(header)).toBeNull();
  });
});

test('a digest is found again from its tag', () => {
  expect(taggedUpload(uploadTag(`sha256:${HEX}`))).toBe(`sha256:${HEX}`);
  expect(['rev-1', 'sha256-', `sha256-${HEX}0`, HEX].map(taggedUpload)).toEqual([null, null, null, null]);
});

test.each(['/abs', 'a/', '../x', 'a/../b', 'a\nb', ''])(
  'a path of the build settings cannot be %j',
  (path) => {
    expect(uploadSchema.safeParse({ digest: `sha256:${HEX}`, dockerfile: path }).success).toBe(false);
  },
);

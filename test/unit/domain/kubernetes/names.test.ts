import { describe, expect, it } from 'vitest';
import { imageSchema, parseImageReference } from '../../../../src/domain/kubernetes/image.ts';
import {
  annotationsSchema,
  labelsSchema,
  MAX_ANNOTATIONS_BYTES,
} from '../../../../src/domain/kubernetes/metadata.ts';
import {
  configMapKeySchema,
  descendingPathSchema,
  dnsLabelSchema,
  dnsSubdomainSchema,
  envVarNameSchema,
  isLabelValue,
  isQualifiedName,
  volumeFilePathSchema,
} from '../../../../src/domain/kubernetes/names.ts';
import { line, text } from '../../../../src/domain/kubernetes/text.ts';
import { accepts, issuePaths, rejects } from './cases.ts';

function table(
  name: string,
  schema: Parameters<typeof issuePaths>[0],
  good: unknown[],
  bad: unknown[],
): void {
  describe(name, () => {
    it.each(good)('accepts %j', (value) => expect(issuePaths(schema, value)).toEqual([]));
    it.each(bad)('rejects %j', (value) => expect(issuePaths(schema, value)).not.toEqual([]));
  });
}

table(
  'dnsLabelSchema',
  dnsLabelSchema,
  ['a', '0', 'a-b', 'a'.repeat(63)],
  ['', 'A', '-a', 'a-', 'a.b', 'a_b', 'a b', 'a\n', 'a'.repeat(64), 'é', null],
);
table(
  'dnsSubdomainSchema',
  dnsSubdomainSchema,
  ['a', 'a.b', 'a-b.c0', `${'a'.repeat(63)}.b`, 'a'.repeat(253)],
  ['', '.a', 'a.', 'a..b', 'a.-b', 'A.b', 'a_b', 'a'.repeat(254), 'a/b', '../a'],
);
table(
  'envVarNameSchema',
  envVarNameSchema,
  ['A', 'a.b-c', '1A', 'A B', '..', '~!@#'],
  ['', 'A=B', 'é', 'A\n', 'A\u0000', 'A'.repeat(257)],
);
table(
  'configMapKeySchema',
  configMapKeySchema,
  ['a', 'tls.crt', 'A_b-c', '.hidden'],
  ['', '.', '..', '..data', 'a/b', 'a b', 'a'.repeat(254)],
);
table(
  'descendingPathSchema',
  descendingPathSchema,
  ['', 'a', 'a/b', 'a..b', '..a', './a', 'a b'],
  ['/a', '..', '../a', 'a/..', 'a/../b', 'a\u0000', 'a'.repeat(4096)],
);
table(
  'volumeFilePathSchema',
  volumeFilePathSchema,
  ['a', 'a/b', 'a/..b'],
  ['', '/a', '..', '..data', '../a', 'a/../b'],
);
table(
  'imageSchema',
  imageSchema,
  [
    'app',
    'team/app',
    'registry.example.com/team/app:1.2',
    'registry.example.com:5000/app',
    'localhost:5000/a__b/c-d.e:_x',
    '[2001:db8::1]:5000/app',
    `app@sha256:${'a'.repeat(64)}`,
    `app:1@sha256:${'0'.repeat(64)}`,
    'REGISTRY.example.com/app',
  ],
  [
    '',
    ' ',
    ' app',
    'app ',
    'app\n',
    'App',
    'app:',
    'app@',
    'app:a b',
    'https://registry.example.com/app',
    'registry.example.com/',
    '/app',
    'app//x',
    'a/-b',
    'app@sha256:abc',
    `app@sha256:${'A'.repeat(64)}`,
    'sha256',
    'sha256:3f',
    `sha256:${'a'.repeat(64)}`,
    `sha256@sha256:${'a'.repeat(64)}`,
    `app:${'t'.repeat(129)}`,
    'a'.repeat(256),
    'a'.repeat(513),
  ],
);
table('line', line(3), ['', 'abc', 'é'], ['abcd', 'a\nb', 'a\u0000', 'a\u007f', '\ud800', 1]);
table('text', text(5), ['', 'a\nb', 'a\tb', 'a\r\nb'], ['a\u0000', 'a\u001b', '\udc00', 'abcdef']);

describe('the rules for qualified names', () => {
  it.each(['a', 'A.b_c-d', 'example.com/a', 'example.com/A', `${'a'.repeat(253)}/b`, 'a'.repeat(63)])(
    'accept %s',
    (key) => expect(isQualifiedName(key)).toBe(true),
  );
  it.each([
    '',
    '/',
    '/a',
    'a/',
    'a/b/c',
    'Example.com/a',
    'a_b/c',
    '-a',
    'a-',
    'a b',
    'é',
    'a'.repeat(64),
    `${'a'.repeat(254)}/b`,
  ])('reject %j', (key) => expect(isQualifiedName(key)).toBe(false));
  it.each([
    ['', true],
    ['a', true],
    ['a_b.c', true],
    ['-a', false],
    ['a b', false],
    ['a'.repeat(64), false],
  ])('decide whether %j is a label value: %s', (value, valid) => expect(isLabelValue(value)).toBe(valid));
});

describe('labelsSchema', () => {
  accepts(labelsSchema, [
    ['an empty map', {}],
    ['valid labels', { a: '', 'example.com/b': 'c' }],
  ]);
  rejects(labelsSchema, [
    ['a bad key', { 'a b': 'c' }, 'a b'],
    ['a bad value', { a: 'b c' }, 'a'],
    ['a number', { a: 1 }, 'a'],
    ['null', { a: null }, 'a'],
    ['a list', [], ''],
    ['too many', Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`k${index}`, ''])), ''],
  ]);
});

describe('annotationsSchema', () => {
  accepts(annotationsSchema, [
    ['several lines', { 'Example.com/a': 'several\nlines, é, "quotes"' }],
    ['as much as fits', { a: 'x'.repeat(MAX_ANNOTATIONS_BYTES - 1) }],
  ]);
  rejects(annotationsSchema, [
    ['a bad key', { 'a/b/c': '' }, 'a/b/c'],
    ['NUL', { a: '\u0000' }, 'a'],
    ['an object', { a: {} }, 'a'],
    ['too much together', { a: 'x'.repeat(MAX_ANNOTATIONS_BYTES), b: '' }, ''],
    ['too many bytes in fewer characters', { a: 'é'.repeat(MAX_ANNOTATIONS_BYTES - 1) }, ''],
  ]);
});

describe('parseImageReference', () => {
  it.each([
    ['app', { name: 'app', tag: null, digest: null }],
    ['r.example.com:5000/app:1', { name: 'r.example.com:5000/app', tag: '1', digest: null }],
    [`a/b:1@sha256:${'a'.repeat(64)}`, { name: 'a/b', tag: '1', digest: `sha256:${'a'.repeat(64)}` }],
    ['library/sha256:3f', { name: 'library/sha256', tag: '3f', digest: null }],
    ['docker.io/library/sha256', { name: 'docker.io/library/sha256', tag: null, digest: null }],
    ['sha256:3f', null],
    ['not an image', null],
  ])('parses or rejects %s', (image, parts) => expect(parseImageReference(image)).toEqual(parts));
});

import { expect, test } from 'vitest';
import {
  imageUriSchema,
  isUnderRegistry,
  pinnedImage,
  versionOfImage,
} from '../../../../src/domain/net/image-reference.ts';

const DIGEST = `sha256:${'0a'.repeat(32)}`;

test.each([
  ['web', null],
  ['web:1.2', '1.2'],
  ['registry.example.com:5000/web', null],
  ['registry.example.com:5000/web:v3', 'v3'],
  [`web:v3@${DIGEST}`, 'v3'],
  [`web@${DIGEST}`, null],
  [null, null],
])('returns the version of %s as %s', (image, version) => {
  expect(versionOfImage(image)).toBe(version);
});

test.each([
  [`sha256:${'a'.repeat(64)}`, true],
  [`sha512:${'a'.repeat(128)}`, true],
  [`SHA256:${'a'.repeat(64)}`, false],
  [`sha256:${'A'.repeat(64)}`, false],
  [`sha256:${'a'.repeat(65)}`, false],
  [`sha512:${'a'.repeat(64)}`, false],
  [`md5:${'a'.repeat(32)}`, false],
  [`sha256+b64:${'a'.repeat(64)}`, false],
])('accepts only a digest that registries support: %s', (digest, known) => {
  expect(pinnedImage(`web@${digest}`)).toBe(known ? `web@${digest}` : null);
  expect(imageUriSchema.safeParse(`web@${digest}`).success).toBe(known);
});

test('treats only an image with a digest as pinned', () => {
  expect(pinnedImage(`web@${DIGEST}`)).toBe(`web@${DIGEST}`);
  expect(pinnedImage('web:1')).toBeNull();
  expect(pinnedImage(null)).toBeNull();
});

test.each([
  ['registry.example.com/web:1', 'registry.example.com', true],
  ['registry.example.com/apps/web', 'https://registry.example.com/apps/', true],
  ['registry.example.com/appsx/web', 'registry.example.com/apps', false],
  ['registry.example.com.evil.io/web', 'registry.example.com', false],
  ['registry.example.com:5000/web', 'registry.example.com', false],
  ['Registry.Example.com/web', 'registry.example.com', true],
  ['registry.example.com:443/web', 'registry.example.com', true],
  ['registry.example.com/web', 'https://registry.example.com:443', true],
  ['registry.example.com:4430/web', 'registry.example.com', false],
  ['web', 'registry.example.com', false],
])('decides whether %s is under %s: %s', (image, registry, expected) => {
  expect(isUnderRegistry(image, registry)).toBe(expected);
});

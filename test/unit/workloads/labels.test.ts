import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLabelValue } from '../../../src/domain/kubernetes/names.ts';
import { imageVersion, labelValue } from '../../../src/workloads/labels.ts';

test.each([
  ['registry.example.com/demo:1.2.3', '1.2.3'],
  ['registry.example.com:5000/demo', 'latest'],
  ['registry.example.com:5000/demo:v2', 'v2'],
  ['demo@sha256:6c3c624b58dbbcd3c0dd82b4c53f04194d1247c6eebdaab7c610cf7d66709b3b', '6c3c624b58db'],
  ['demo:2@sha256:6c3c624b58dbbcd3c0dd82b4c53f04194d1247c6eebdaab7c610cf7d66709b3b', '2'],
  ['', ''],
])('returns the version of %s as %s', (image, version) => {
  expect(imageVersion(image)).toBe(version);
});

test('converts a tag that is not a label value to one', () => {
  const version = imageVersion(`demo:_${'x'.repeat(100)}-`);
  expect(isLabelValue(version)).toBe(true);
});

test('converts any text to a label value, and different texts to different values', () => {
  const text = fc.string({ unit: 'binary', maxLength: 80 });
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(isLabelValue(labelValue(a))).toBe(true);
      expect(labelValue(a) === labelValue(b)).toBe(a === b);
    }),
  );
});

import { describe, expect, test } from 'vitest';
import { isRepositoryName } from '../../../../scripts/release/repository-name.ts';

describe('isRepositoryName', () => {
  test.each([
    'berth',
    'ghcr.io/berth-dev/berth',
    'Registry.Example/berth',
    'localhost:5000/a/b_c/d__e/f--g',
    '10.0.0.1:5000/berth',
    '1e3',
  ])('accepts %s', (name) => {
    expect(isRepositoryName(name)).toBe(true);
  });

  test.each([
    '',
    'berth:1',
    'registry.example/berth:1',
    'registry.example/Berth',
    'a//b',
    'a:/b',
    'a..b',
    '/a',
    'a/',
    'a b',
    'a: b',
    'a\nb',
    'https://registry.example/berth',
    `berth@sha256:${'a'.repeat(64)}`,
    'a'.repeat(256),
  ])('rejects %j', (name) => {
    expect(isRepositoryName(name)).toBe(false);
  });
});

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClusterReport, ObservedReport } from '../../../src/domain/cluster-report.ts';
import { formsOf, tellsOfFailure, withoutForms, withTexts } from '../../../src/domain/known-secrets.ts';

const masked = (text: string, ...values: string[]) => withoutForms(text, formsOf(values));
const PEM = `-----BEGIN KEY-----\n${'MIIEvQIBADANBgkq'.repeat(4)}\n${'hkiG9w0BAQEFAASC'.repeat(4)}\n-----END KEY-----\n`;

describe('values of secrets in a text', () => {
  test.each([
    ['as they are, each time', masked('a hunter22 b hunter22', 'hunter22'), 'a *** b ***'],
    ['the longer of two first', masked('hunter22-x', 'hunter22', 'hunter22-x'), '***'],
    ['within JSON', masked('{"A":"say \\"hi\\" now"}', 'say "hi" now'), '{"A":"***"}'],
    ['within a URL', masked('?key=a%2Fb%20c%3D', 'a/b c='), '?key=***'],
    ['that are words', masked('info: port 8080', 'info', '8080'), 'info: port 8080'],
    ['with characters of expressions', masked('x$&(.*)[y', '$&(.*)['), 'x***y'],
    ['of several lines, one of them', masked(`at ${PEM.split('\n')[1]}!`, PEM), 'at ***!'],
    ['of one line with a line end behind it', masked('A=hunter22 b', 'hunter22\n'), 'A=*** b'],
    ['of one line among blank ones', masked('A=hunter22 b', '\n\n hunter22 \r\n'), 'A=*** b'],
    ['cut at the beginning', masked('…er22345 failed', 'hunter22345'), '…*** failed'],
    ['cut at the end', masked('failed with hunter22…', 'hunter22345'), 'failed with ***…'],
    ['cut at its beginning and its end', masked('…nter22', 'hunter22345'), '…***'],
    ['cut at both ends', masked('…nter223…', 'hunter22345'), '…***…'],
    ['that end where a text was cut', masked('…nter22345…', 'hunter22345'), '…***…'],
  ])('%s', (_, text, expected) => {
    expect(text).toBe(expected);
  });

  test('are gone, wherever a text was cut', () => {
    const value = fc.string({ minLength: 6, maxLength: 60 }).filter((text) => !text.includes('*'));
    fc.assert(
      fc.property(value, fc.nat(59), fc.string({ maxLength: 50 }), (secret, at, rest) => {
        const tail = secret.slice(at % (secret.length - 5));
        fc.pre(!rest.includes(tail));
        expect(masked(`…${tail}${rest}`, secret).startsWith(`…${tail}`)).toBe(false);
      }),
    );
  });

  test('longer than a line of a log: no piece of it is left', () => {
    const digests = Array.from({ length: 40 }, (_, index) => createHash('sha512').update(`${index}`));
    const secret = digests.map((digest) => digest.digest('base64url')).join('');
    for (let size = 40; size <= 1000; size += 96) {
      for (let at = 0; at < secret.length; at += size) {
        const end = at + size;
        const piece = `${at === 0 ? '' : '…'}${secret.slice(at, end)}${end < secret.length ? '…' : ''}`;
        expect(masked(piece, secret)).toMatch(/^…?\*\*\*…?$/);
      }
    }
  });

  test('that are made to be slow are not: each of one letter but for its end', () => {
    const values = Array.from({ length: 1000 }, (_, index) => `${'a'.repeat(4000)}${index}`);
    expect(masked(`…${'a'.repeat(1000)} ${'a'.repeat(3000)}…`, ...values)).toMatch(/^…a/);
  });
});

const report = (more: Partial<ObservedReport>): ObservedReport => ({
  kind: 'observed',
  deploymentId: 'd',
  name: 'web',
  namespace: 'shop',
  specGeneration: 1,
  conditions: [],
  off: false,
  url: null,
  active: null,
  rollout: null,
  failed: null,
  inPlaceFailure: null,
  ...more,
});
const ready = (status: 'True' | 'False') => ({
  type: 'Ready',
  status,
  reason: 'Converged',
  message: 'hunter22',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const failed = {
  id: 'r',
  number: 1,
  reason: 'CrashLoop',
  message: 'api: hunter22',
  culprit: { component: 'api', object: 'web-hunter22', detail: 'said hunter22' },
};
const refused: ClusterReport = {
  kind: 'refused',
  deploymentId: 'd',
  generation: 1,
  reason: 'Refused',
  message: 'no hunter22',
  retryable: false,
};

test('what is ready and has not failed is not looked into', () => {
  expect(tellsOfFailure(report({ conditions: [ready('True')] }))).toBe(false);
  expect(tellsOfFailure(report({ conditions: [ready('True')], failed }))).toBe(true);
  expect(tellsOfFailure(report({ conditions: [ready('True')], inPlaceFailure: failed }))).toBe(true);
  expect(tellsOfFailure(report({ conditions: [ready('False')] }))).toBe(true);
  expect(tellsOfFailure(refused)).toBe(true);
  expect(tellsOfFailure({ kind: 'purged', deploymentId: 'd' })).toBe(false);
});

test('messages and details of a report are masked, names of objects are not', () => {
  const clean = (text: string) => masked(text, 'hunter22');
  expect(withTexts(refused, clean)).toMatchObject({ message: 'no ***' });
  const failing = report({ conditions: [ready('False')], failed, inPlaceFailure: failed });
  const withoutIt = {
    message: 'api: ***',
    culprit: { component: 'api', object: 'web-hunter22', detail: 'said ***' },
  };
  expect(withTexts(failing, clean)).toMatchObject({
    conditions: [{ message: '***' }],
    failed: withoutIt,
    inPlaceFailure: withoutIt,
  });
});

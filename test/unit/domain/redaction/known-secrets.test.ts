import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClusterReport, ObservedReport } from '../../../../src/domain/deployment/cluster-report.ts';
import {
  describesFailure,
  MAX_PATTERN_CHARACTERS,
  masker,
  patternsOf,
  withTexts,
} from '../../../../src/domain/redaction/known-secrets.ts';
import { PatternAutomaton } from '../../../../src/domain/redaction/pattern-automaton.ts';

const masked = (text: string, ...values: string[]) => masker(patternsOf(values))?.(text);
const PEM = `-----BEGIN KEY-----\n${'MIIEvQIBADANBgkq'.repeat(4)}\n${'hkiG9w0BAQEFAASC'.repeat(4)}\n-----END KEY-----\n`;

describe('values of secrets in a text', () => {
  test.each([
    ['each occurrence', masked('a hunter22 b hunter22', 'hunter22'), 'a *** b ***'],
    ['the longer of two values', masked('hunter22-x', 'hunter22', 'hunter22-x'), '***'],
    ['two values that overlap', masked('a hunter22-x-more b', 'hunter22-x', '22-x-more'), 'a *** b'],
    ['within JSON', masked('{"A":"say \\"hi\\" now"}', 'say "hi" now'), '{"A":"***"}'],
    ['within a URL', masked('?key=a%2Fb%20c%3D', 'a/b c='), '?key=***'],
    ['not when they are words', masked('info: port 8080', 'info', '8080'), 'info: port 8080'],
    ['with characters of regular expressions', masked('x$&(.*)[y', '$&(.*)['), 'x***y'],
    ['one line of a value with several lines', masked(`at ${PEM.split('\n')[1]}!`, PEM), 'at ***!'],
    ['a value of one line without its line end', masked('A=hunter22 b', 'hunter22\n'), 'A=*** b'],
    ['a value of one line among blank ones', masked('A=hunter22 b', '\n\n hunter22 \r\n'), 'A=*** b'],
    ['cut at the beginning', masked('…er22345 failed', 'hunter22345'), '…*** failed'],
    ['cut at the end', masked('failed with hunter22…', 'hunter22345'), 'failed with ***…'],
    ['cut at their beginning and their end', masked('…nter22', 'hunter22345'), '…***'],
    ['cut at both ends', masked('…nter223…', 'hunter22345'), '…***…'],
    ['with their end where the text was cut', masked('…nter22345…', 'hunter22345'), '…***…'],
    ['when the remainder after the cut is short', masked('…2345', 'hunter22345'), '…***'],
    [
      'cut within another text',
      masked('exit code 1: …er22345, hunter2…; next', 'hunter22345'),
      'exit code 1: …***, ***…; next',
    ],
    ['not a short text after a cut within a text', masked('Building… done', 'hunter22345'), 'Building… done'],
    ['not when nothing remains between the cuts', masked('……', 'hunter22345'), '……'],
  ])('are masked: %s', (_, text, expected) => {
    expect(text).toBe(expected);
  });

  test('are masked wherever a text was cut', () => {
    const value = fc.string({ minLength: 6, maxLength: 60 }).filter((text) => !text.includes('*'));
    fc.assert(
      fc.property(value, fc.nat(59), fc.string({ maxLength: 50 }), (secret, at, rest) => {
        const tail = secret.slice(at % (secret.length - 5));
        fc.pre(!rest.includes(tail));
        expect(masked(`…${tail}${rest}`, secret)?.startsWith(`…${tail}`)).toBe(false);
      }),
    );
  });

  test('are masked completely when they are longer than a line of a log', () => {
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

  test('are searched fast when they differ only at their ends', () => {
    const patterns = Array.from({ length: 400 }, (_, size) => `${'a'.repeat(16 + size)}b`);
    const mask = masker(patterns);
    for (let round = 0; round < 20; round += 1) {
      expect(mask?.('a'.repeat(8_000))).toBe('a'.repeat(8_000));
      expect(mask?.(`…${'a'.repeat(8_000)}…`)).toBe('…***…');
      expect(mask?.(`x ${patterns[5]} y`)).toBe('x *** y');
    }
  });

  test('are searched fast in a text with many cuts', () => {
    const mask = masker(['…'.repeat(60_000)]);
    for (let round = 0; round < 5; round += 1) expect(mask?.('…'.repeat(59_000))).toBe('***');
  });

  test('are searched fast when there are many of them and many texts, each cut at both ends', () => {
    const lines = Array.from({ length: 1000 }, (_, line) => `key-of-the-line-${line + 10_000}`);
    const mask = masker(patternsOf([lines.join('\n')]));
    for (let line = 0; line < 1000; line += 1) {
      expect(mask?.(`…ey-of-the-line-${line + 10_000} ${'-line-1 '.repeat(20)}key-of-the-li…`)).toMatch(
        /^…\*\*\* (-line-1 ){20}\*\*\*…$/,
      );
      expect(mask?.(`…-${line}`)).toBe('…***');
    }
  });

  test('have a bound, above which texts cannot be masked', () => {
    const patterns = ['a'.repeat(MAX_PATTERN_CHARACTERS - 6), 'b'.repeat(6)];
    expect(masker(patterns)?.('x bbbbbb y')).toBe('x *** y');
    expect(masker([...patterns, 'c'.repeat(6)])).toBeNull();
  });
});

type Cover = (from: number, to: number) => void;

/** The parts of patterns with which a text ends before a cut, and those with which it begins after a cut. */
function coverParts(text: string, patterns: readonly string[], cover: Cover): void {
  const end = text.endsWith('…') ? text.length - 1 : text.length;
  if (text.startsWith('…') && end < 7) cover(1, end);
  const isPart = (from: number) => patterns.some((pattern) => pattern.includes(text.slice(from, from + 6)));
  for (let cut = text.indexOf('…'); cut >= 0; cut = text.indexOf('…', cut + 1)) {
    for (let from = cut + 1; from + 6 <= text.length && isPart(from); from += 1) cover(from, from + 6);
    for (let from = 0; from + 6 <= cut; from += 1)
      if (patterns.some((pattern) => pattern.startsWith(text.slice(from, cut)))) cover(from, cut);
  }
}

/** The reference: compares every pattern with every position of the text. */
function maskedOneByOne(text: string, patterns: readonly string[]): string {
  const covered = new Set<number>();
  const cover: Cover = (from, to) => {
    for (let index = from; index < to; index += 1) covered.add(index);
  };
  for (const pattern of patterns)
    for (let from = text.indexOf(pattern); from >= 0; from = text.indexOf(pattern, from + 1))
      cover(from, from + pattern.length);
  coverParts(text, patterns, cover);
  let result = '';
  for (let index = 0; index < text.length; index += 1)
    if (!covered.has(index)) result += text[index];
    else if (!covered.has(index - 1)) result += '***';
  return result;
}

describe('a search for many patterns', () => {
  const of = (letters: string, maxLength: number) =>
    fc.string({ unit: fc.constantFrom(...letters), maxLength });
  /** Texts that are made of parts of the values, so that they contain some of them, complete and cut. */
  const cases = fc
    .tuple(
      fc.array(fc.oneof(of('ab', 14), of('ab*…', 12), of('abc/\n', 60), fc.string({ unit: 'binary' })), {
        maxLength: 12,
      }),
      fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat(), of('ab*… ', 3)), { maxLength: 6 }),
      fc.constantFrom('', '…'),
      fc.constantFrom('', '…'),
    )
    .map(([values, parts, first, last]) => {
      const patterns = patternsOf(values);
      const text = parts.map(([pattern, from, size, between]) => {
        const whole = patterns[pattern % Math.max(1, patterns.length)] ?? '';
        const at = from % 3 === 0 ? 0 : from % (whole.length + 1);
        return `${whole.slice(at, size % 3 === 0 ? undefined : at + (size % 16))}${between}`;
      });
      return { patterns, text: `${first}${text.join('')}${last}` };
    });

  test('masks the same text as a comparison with each pattern', () => {
    fc.assert(
      fc.property(cases, ({ patterns, text }) => {
        expect(masker(patterns)?.(text)).toBe(patterns.length === 0 ? text : maskedOneByOne(text, patterns));
      }),
      { numRuns: 3_000 },
    );
  });

  test('finds every pattern of every length in a random text', () => {
    const patterns = fc.array(
      fc.string({ unit: fc.constantFrom('a', 'b', 'ü'), minLength: 1, maxLength: 8 }),
      {
        minLength: 1,
        maxLength: 20,
      },
    );
    fc.assert(
      fc.property(patterns, of('abü', 60), (all, text) => {
        const automaton = new PatternAutomaton(all);
        let state = 0;
        for (let end = 1; end <= text.length; end += 1) {
          state = automaton.next(state, text.charCodeAt(end - 1));
          const read = text.slice(0, end);
          const lengths = all.filter((pattern) => read.endsWith(pattern)).map(({ length }) => length);
          expect(automaton.longestMatch(state)).toBe(Math.max(0, ...lengths));
          const begun = [8, 7, 6, 5, 4, 3, 2, 1].find(
            (size) => size <= end && all.some((pattern) => pattern.startsWith(read.slice(-size))),
          );
          expect(automaton.depth(state)).toBe(begun ?? 0);
        }
      }),
      { numRuns: 2_000 },
    );
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
  failureSource: { component: 'api', object: 'web-hunter22', detail: 'said hunter22' },
};
const refused: ClusterReport = {
  kind: 'refused',
  deploymentId: 'd',
  generation: 1,
  reason: 'Refused',
  message: 'no hunter22',
  retryable: false,
};

test('skips a report that is ready and has no failure', () => {
  expect(describesFailure(report({ conditions: [ready('True')] }))).toBe(false);
  expect(describesFailure(report({ conditions: [ready('True')], failed }))).toBe(true);
  expect(describesFailure(report({ conditions: [ready('True')], inPlaceFailure: failed }))).toBe(true);
  expect(describesFailure(report({ conditions: [ready('False')] }))).toBe(true);
  expect(describesFailure(refused)).toBe(true);
  expect(describesFailure({ kind: 'purged', deploymentId: 'd' })).toBe(false);
});

test('masks messages and details of a report, and keeps the names of objects', () => {
  const clean = (text: string) => masked(text, 'hunter22') ?? '';
  expect(withTexts(refused, clean)).toMatchObject({ message: 'no ***' });
  const { message, failureSource } = failed;
  const symptoms = [{ component: 'api', reason: 'CrashLoop', since: '', message, failureSource }];
  const failing = report({ conditions: [ready('False')], failed, inPlaceFailure: failed, symptoms });
  const withoutIt = {
    message: 'api: ***',
    failureSource: { component: 'api', object: 'web-hunter22', detail: 'said ***' },
  };
  expect(withTexts(failing, clean)).toMatchObject({
    conditions: [{ message: '***' }],
    failed: withoutIt,
    inPlaceFailure: withoutIt,
    symptoms: [withoutIt],
  });
  // Ready does not show a container that fails while its pod is ready in between.
  expect(describesFailure(report({ conditions: [ready('True')], symptoms }))).toBe(true);
});

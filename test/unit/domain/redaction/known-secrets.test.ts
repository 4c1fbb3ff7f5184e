import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClusterReport, ObservedReport } from '../../../../src/domain/deployment/cluster-report.ts';
import {
  formsOf,
  masker,
  tellsOfFailure,
  withTexts,
} from '../../../../src/domain/redaction/known-secrets.ts';

/** The masked text, which must be the same with and without an index. */
const masked = (text: string, ...values: string[]) => {
  const forms = formsOf(values);
  const found = masker(forms)(text) ?? 'withheld';
  expect(masker(forms, 0)(text) ?? 'withheld').toBe(found);
  return found;
};
const PEM = `-----BEGIN KEY-----\n${'MIIEvQIBADANBgkq'.repeat(4)}\n${'hkiG9w0BAQEFAASC'.repeat(4)}\n-----END KEY-----\n`;

describe('values of secrets in a text', () => {
  test.each([
    ['each occurrence', masked('a hunter22 b hunter22', 'hunter22'), 'a *** b ***'],
    ['the longer of two values first', masked('hunter22-x', 'hunter22', 'hunter22-x'), '***'],
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
  ])('are masked: %s', (_, text, expected) => {
    expect(text).toBe(expected);
  });

  test('are masked wherever a text was cut', () => {
    const value = fc.string({ minLength: 6, maxLength: 60 }).filter((text) => !text.includes('*'));
    fc.assert(
      fc.property(value, fc.nat(59), fc.string({ maxLength: 50 }), (secret, at, rest) => {
        const tail = secret.slice(at % (secret.length - 5));
        fc.pre(!rest.includes(tail));
        expect(masked(`…${tail}${rest}`, secret).startsWith(`…${tail}`)).toBe(false);
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
    const values = Array.from({ length: 450 }, (_, index) => `${'a'.repeat(4000)}${index}`);
    expect(masked(`…${'a'.repeat(1000)} ${'a'.repeat(3000)}…`, ...values)).toMatch(/^…a/);
  });

  test('are searched fast when there are many of them and many texts, each cut at both ends', () => {
    const values = [0, 1, 2, 3].map((key) =>
      Array.from({ length: 3900 }, (_, line) => `key-${key}-of-line-${line + 10_000}`).join('\n'),
    );
    const mask = masker(formsOf(values));
    for (let line = 0; line < 1000; line += 1) {
      expect(mask(`…ey-1-of-line-${line + 10_000} ${'-line-1 '.repeat(20)}key-2-of-line-13…`)).toMatch(
        /^…\*\*\* (-line-1 ){20}\*\*\*…$/,
      );
      expect(mask(`…-${line}`)).toBe('…***');
    }
  });

  test('cause the text to be withheld when the search would be slow', () => {
    const lines = Array.from({ length: 700 }, (_, size) => `${'a'.repeat(16 + size)}b`);
    const mask = masker(formsOf([lines.join('\n')]));
    expect(mask('a'.repeat(16_000))).toBeNull();
    expect(mask(`…${'a'.repeat(5000)}`)).toBeNull();
    expect(mask(`x ${lines[5]} y`)).toBe('x *** y');
  });

  test('cause the text to be withheld when they are too large, and are found again after an eviction', () => {
    const part = (letter: string, index: number) =>
      createHash('sha512').update(`${letter} ${index}`).digest('hex');
    const large = (letter: string, size: number) =>
      Array.from({ length: size }, (_, index) => part(letter, index)).join('');
    expect(masker(formsOf([large('x', 16_000)]))('hello')).toBeNull();
    const masks = [...'abcdefghijklmn'].map(
      (letter) => [masker(formsOf([large(letter, 5000)])), letter] as const,
    );
    for (const [mask, letter] of [...masks, ...masks.slice(0, 2)])
      expect(mask(`…${large(letter, 5000).slice(-40)} and on`)).toBe('…*** and on');
  });
});

/** The reference for the index: applies each form, the longest first. */
function oneByOne(text: string, forms: readonly string[]): string {
  const places = (form: string, probe: string) =>
    [...Array(form.length + 1).keys()].filter((at) => form.startsWith(probe, at)).slice(0, 64);
  const withoutRest = (of: string, form: string) => {
    if (!of.startsWith('…')) return of;
    const kept = of.slice(1);
    const within = kept.endsWith('…') ? kept.slice(0, -1) : null;
    for (const at of places(form, kept.slice(0, 6))) {
      const rest = form.slice(at);
      if (kept.startsWith(rest) && rest !== '') return `…***${kept.slice(rest.length)}`;
      if (rest.startsWith(kept)) return '…***';
      if (within !== null && rest.startsWith(within)) return '…***…';
    }
    return of;
  };
  const withoutBeginning = (of: string, form: string) => {
    if (!of.endsWith('…')) return of;
    const kept = of.slice(0, -1);
    for (const at of places(form, kept.slice(-6))) {
      const beginning = form.slice(0, at + 6);
      if (kept.endsWith(beginning)) return `${kept.slice(0, -beginning.length)}***…`;
    }
    return of;
  };
  return forms.reduce(
    (rest, form) => withoutBeginning(withoutRest(rest.replaceAll(form, '***'), form), form),
    text,
  );
}

describe('an index of forms', () => {
  const of = (letters: string, maxLength: number) =>
    fc.string({ unit: fc.constantFrom(...letters), maxLength });
  /** Texts that are made of parts of the values, so that they hold some, whole and cut. */
  const cases = fc
    .tuple(
      fc.array(fc.oneof(of('ab', 14), of('ab*…', 12), of('abc/\n', 60)), { maxLength: 12 }),
      fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat(), of('ab*… ', 3)), { maxLength: 6 }),
      fc.constantFrom('', '…'),
      fc.constantFrom('', '…'),
    )
    .map(([values, parts, first, last]) => {
      const forms = formsOf(values);
      const text = parts.map(([form, from, size, between]) => {
        const whole = forms[form % Math.max(1, forms.length)] ?? '';
        const at = from % 3 === 0 ? 0 : from % (whole.length + 1);
        return `${whole.slice(at, size % 3 === 0 ? undefined : at + (size % 16))}${between}`;
      });
      return { forms, text: `${first}${text.join('')}${last}` };
    });

  test('masks the same text as a check of each form', () => {
    fc.assert(
      fc.property(cases, ({ forms, text }) => {
        const expected = oneByOne(text, forms);
        expect(masker(forms, 0)(text)).toBe(expected);
        expect(masker(forms)(text)).toBe(expected);
      }),
      { numRuns: 5_000 },
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
  expect(tellsOfFailure(report({ conditions: [ready('True')] }))).toBe(false);
  expect(tellsOfFailure(report({ conditions: [ready('True')], failed }))).toBe(true);
  expect(tellsOfFailure(report({ conditions: [ready('True')], inPlaceFailure: failed }))).toBe(true);
  expect(tellsOfFailure(report({ conditions: [ready('False')] }))).toBe(true);
  expect(tellsOfFailure(refused)).toBe(true);
  expect(tellsOfFailure({ kind: 'purged', deploymentId: 'd' })).toBe(false);
});

test('masks messages and details of a report, and keeps the names of objects', () => {
  const clean = (text: string) => masked(text, 'hunter22');
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
  expect(tellsOfFailure(report({ conditions: [ready('True')], symptoms }))).toBe(true);
});

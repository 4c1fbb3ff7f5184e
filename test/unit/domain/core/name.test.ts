import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { apiKeyNameSchema } from '../../../../src/domain/core/api-key.ts';
import {
  nameSchema,
  normalizedName,
  partSpellingsOf,
  SPACE_CHARACTERS,
} from '../../../../src/domain/core/name.ts';
import { tenantNameSchema } from '../../../../src/domain/core/tenant-name.ts';
import { createBodySchema, patchBodySchema } from '../../../../src/domain/deployment/deployment-bodies.ts';
import {
  createIntegrationSchema,
  patchIntegrationSchema,
} from '../../../../src/hub/api/integrations/integration-schema.ts';
import {
  listenerBodySchema,
  patchListenerSchema,
} from '../../../../src/hub/api/listeners/listener-schema.ts';
import { keyBodySchema, valueBodySchema } from '../../../../src/hub/api/tags/tag-schema.ts';

const isTaken = (name: string) => nameSchema.safeParse(name).success;

test.each([
  'shop',
  'Größe 1, v2',
  'магазин',
  '店',
  '👩🏽‍🚀 & 👁️‍🗨️',
  'I ❤️ 1️⃣',
  '葛\u{e0100}城',
  'فروش\u200cگاه',
  'ශ\u0dca\u200dරී',
])('accepts %s', (name) => expect(isTaken(name)).toBe(true));

// Each looks like another name, or like none.
test.each([
  ['zero-width spaces alone', '\u200b\u200b'],
  ['a joiner alone', '\u200d'],
  ['a variation selector alone', '\ufe0f'],
  ['fillers alone', '\u3164\uffa0'],
  ['a zero-width space', 'shop\u200b'],
  ['a joiner at the end', 'shop\u200d'],
  ['a joiner between letters that do not join', 'sh\u200dop'],
  ['a joiner behind an accent', 'x\u0302\u200dop'],
  ['a non-joiner behind an accent', 'x\u0302\u200cop'],
  ['a variation selector behind a letter', 'shop\ufe0f'],
  ['a variation selector behind a digit', 'shop1\ufe0f'],
  ['two variation selectors', '❤\ufe0f\ufe0f'],
  ['a soft hyphen', 'sh\u00adop'],
  ['a word joiner', 'sh\u2060op'],
  ['a mark of direction', 'shop\u200e'],
  ['a turn of direction', 'a\u202eb'],
  ['a control character', 'a\u0085b'],
  ['a line separator', 'a\u2028b'],
  ['blanks', ' \u00a0'],
  ['the blank of Braille', 'shop\u2800'],
  ['a tab at the end', 'shop\t'],
  ['a line end', 'shop\n'],
  ['a byte order mark', '\ufeffshop'],
])('rejects %s', (_what, name) => expect(isTaken(name)).toBe(false));

test('counts the length in code points, as JSON Schema does', () => {
  const { maxLength } = z.toJSONSchema(nameSchema) as { maxLength: number };
  expect(maxLength).toBe(128);
  expect(isTaken('😀'.repeat(maxLength))).toBe(true);
  expect(isTaken('😀'.repeat(maxLength + 1))).toBe(false);
});

test('is not part of a PATCH, so that deployments with older names can be changed', () => {
  expect(Object.keys(patchBodySchema.shape)).not.toContain('name');
});

const NFC = 'caf\u00e9';
const NFD = 'cafe\u0301';

test.each([
  ['a composed letter', NFC, NFC],
  ['a decomposed letter', NFD, NFC],
  ['a sign that is a letter', '\u212bngstr\u00f6m', '\u00c5ngstr\u00f6m'],
  ['marks in another order', 'q\u0307\u0323', 'q\u0323\u0307'],
  ['a space behind it', 'x ', 'x'],
  ['a space before it', ' x', 'x'],
  ['a no-break space', 'x\u00a0', 'x'],
  ['narrow and wide spaces', '\u202f\u3000x\u2003\u205f', 'x'],
  ['a no-break space inside', 'a\u00a0b', 'a b'],
  ['a case', 'Shop', 'Shop'],
  ['full-width forms', '\uff58', '\uff58'],
])('stores %s in one form', (_what, sent, stored) => {
  expect(nameSchema.parse(sent)).toBe(stored);
  expect(nameSchema.parse(stored)).toBe(stored);
});

test('rejects an invalid name with the reason', () => {
  const reasons = (name: unknown) => nameSchema.safeParse(name).error?.issues.map(({ message }) => message);
  expect(reasons(' \u00a0 ')).toEqual(['must not be blank']);
  expect(reasons('')).toEqual(['must not be blank']);
  expect(reasons('a\u200bb')).toEqual(['must consist of printable, visible characters']);
  expect(reasons('x'.repeat(129))).toHaveLength(1);
});

test('measures the length of the stored form', () => {
  expect(isTaken(NFD.repeat(32))).toBe(true);
  expect(isTaken(`${'x'.repeat(128)}   `)).toBe(true);
});

test('searches for a part in its stored form and as given', () => {
  expect(partSpellingsOf(' f\u00a0')).toEqual([' f ', ' f\u00a0']);
});

test('knows every space character for lookups in stored names', () => {
  const all = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code));
  expect(SPACE_CHARACTERS).toBe(all.filter((character) => /\p{Zs}/u.test(character)).join(''));
});

const FIELDS: readonly (readonly [string, z.ZodType])[] = [
  ['deployment', createBodySchema.shape.name],
  ['tenant', tenantNameSchema],
  ['API key', apiKeyNameSchema],
  ['tag key', keyBodySchema.shape.key],
  ['tag value', valueBodySchema.shape.value],
  ['integration', createIntegrationSchema.shape.name],
  ['changed integration', patchIntegrationSchema.shape.name],
  ['listener', listenerBodySchema.shape.compute_id],
  ['changed listener', patchListenerSchema.shape.compute_id],
];

test.each(FIELDS)('stores the name of each %s in one form', (_what, schema) => {
  for (const spelling of [NFC, NFD, `${NFD} `, ` ${NFC}`, `${NFC}\u00a0`])
    expect(schema.parse(spelling)).toBe(NFC);
  for (const refused of ['', ' ', '\u200b', 'a\tb', 'x\u00ad', 'x'.repeat(129)])
    expect(schema.safeParse(refused).success, JSON.stringify(refused)).toBe(false);
});

test('does not change a normalized name', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (name) => {
      const normalized = normalizedName(name);
      expect(normalizedName(normalized)).toBe(normalized);
    }),
  );
});

import { expect, test } from 'vitest';
import { z } from 'zod';
import { patchBodySchema } from '../../../src/domain/deployment-bodies.ts';
import { deploymentNameSchema } from '../../../src/domain/deployment-name.ts';

const isTaken = (name: string) => deploymentNameSchema.safeParse(name).success;

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
])('%s is a name', (name) => expect(isTaken(name)).toBe(true));

// Each looks like another name, or like none.
test.each([
  ['zero-width spaces alone', '\u200b\u200b'],
  ['a joiner alone', '\u200d'],
  ['a variation selector alone', '\ufe0f'],
  ['fillers alone', '\u3164\uffa0'],
  ['a zero-width space', 'shop\u200b'],
  ['a joiner at the end', 'shop\u200d'],
  ['a joiner between letters that do not join', 'sh\u200dop'],
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
])('%s is refused', (_what, name) => expect(isTaken(name)).toBe(false));

test('its length is counted in code points, as JSON Schema counts them', () => {
  const { maxLength } = z.toJSONSchema(deploymentNameSchema) as { maxLength: number };
  expect(maxLength).toBe(128);
  expect(isTaken('😀'.repeat(maxLength))).toBe(true);
  expect(isTaken('😀'.repeat(maxLength + 1))).toBe(false);
});

test('a PATCH names none, so one that was stored before is changed as any other', () => {
  expect(Object.keys(patchBodySchema.shape)).not.toContain('name');
});

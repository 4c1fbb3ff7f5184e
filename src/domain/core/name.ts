import { z } from 'zod';
import { line } from '../kubernetes/text.ts';

/** Unique names that people choose. The rules ensure that names that look equal are equal. */

/** Maximum length of a name in normal form, in code points. */
export const MAX_NAME = 128;

/**
 * Control characters, line separators, bidirectional controls, and invisible characters (zero-width spaces, soft hyphens,
 * fillers, the Braille blank). With these, two deployments could have names that look equal.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * Joiners and variation selectors where they are visible: in emoji and keycaps, after ideographs, and in scripts that use
 * joiners (after a mark of such a script, such as a virama, and in Arabic). Marks of all scripts, such as accents, do not
 * count.
 */
const SEEN = new RegExp(
  [
    String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})`,
    String.raw`(?<=\p{Extended_Pictographic})\ufe0f`,
    String.raw`(?<=\p{Emoji_Presentation})\ufe0e`,
    String.raw`(?<=[0-9#*])\ufe0f(?=\u20e3)`,
    String.raw`(?<=\p{Ideographic})[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]`,
    String.raw`(?<=(?!\p{Variation_Selector})(?:(?!\p{Script=Inherited})\p{M}|\p{Script_Extensions=Arabic}))[\u200c\u200d](?=\p{L})`,
  ].join('|'),
  'gu',
);

/** Spaces of any width, including no-break spaces. */
const SPACES = /\p{Zs}/gu;
/** The characters of SPACES as a list, for lookups in stored names. */
export const SPACE_CHARACTERS =
  ' \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000';
const OUTER_SPACES = /^ +| +$/g;

/** The normal form of a name: NFC, plain spaces, and no leading or trailing spaces. */
export function normalizedName(name: string): string {
  return name.normalize('NFC').replace(SPACES, ' ').replace(OUTER_SPACES, '');
}

/** Spellings of a part of a name, for a search. Leading and trailing spaces are significant. */
export function partSpellingsOf(part: string): string[] {
  return [...new Set([part.normalize('NFC').replace(SPACES, ' '), part, part.normalize('NFD')])];
}

/**
 * A name in normal form, of at most 128 code points (as maxLength of OpenAPI counts). The rule applies to new names.
 * Stored names do not change.
 */
export const nameSchema = z.preprocess(
  (name) => (typeof name === 'string' ? normalizedName(name) : name),
  line(MAX_NAME)
    .min(1, 'must not be blank')
    .refine(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: `line` has a message for these.
      (name) => /[\0-\x1f\x7f]/.test(name) || !UNSEEN.test(name.replace(SEEN, '')),
      'must consist of printable, visible characters',
    ),
);

/** Sentence for descriptions of fields. */
export const NAME_FORM =
  'Spaces around the name are dropped, and the name is stored in the Unicode form NFC.';

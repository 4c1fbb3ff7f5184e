import { z } from 'zod';
import { line } from '../kubernetes/text.ts';

/** Names that people give and that are unique among others: two that look the same are the same. */

const MAX_NAME = 128;

/**
 * Controls, line separators, what turns the direction of text, and what nobody sees (zero-width spaces, soft hyphens,
 * fillers, the blank of Braille): with these, two names of one look would be two deployments.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * Joiners and variation selectors where they change what is seen: within emoji and keycaps, behind ideographs, and in
 * scripts that are written with joiners (behind a mark of such a script, such as a virama, and in Arabic). Marks that any
 * script may use, such as accents, join nothing.
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

/** Spaces of any width; no-break spaces among them. */
const SPACES = /\p{Zs}/gu;
/** The same characters, one by one, for lookups in stored names. */
export const SPACE_CHARACTERS =
  ' \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000';
const OUTER_SPACES = /^ +| +$/g;

/** The one form of a name: composed characters (NFC), plain spaces, none of them around it. */
export function normalizedName(name: string): string {
  return name.normalize('NFC').replace(SPACES, ' ').replace(OUTER_SPACES, '');
}

/** Parts of names, for a search: spaces around it belong to it. */
export function partSpellingsOf(part: string): string[] {
  return [...new Set([part.normalize('NFC').replace(SPACES, ' '), part, part.normalize('NFD')])];
}

/**
 * A name, in its one form. At most 128 code points, as the document's maxLength counts. Asked of new names alone: those
 * stored stay.
 */
export const nameSchema = z.preprocess(
  (name) => (typeof name === 'string' ? normalizedName(name) : name),
  line(MAX_NAME)
    .min(1, 'must not be blank')
    .refine(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: `line` has a message for these.
      (name) => /[\0-\x1f\x7f]/.test(name) || !UNSEEN.test(name.replace(SEEN, '')),
      'must consist of printable characters, none of which is invisible',
    ),
);

/** For descriptions of fields. */
export const NAME_FORM = 'Spaces around it are dropped, and it is stored in the Unicode form NFC.';

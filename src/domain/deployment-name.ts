import { line } from './kubernetes/text.ts';

/** Name of a deployment. Names of Kubernetes objects are derived from it. */

const MAX_NAME = 128;

/**
 * Controls, line separators, what turns the direction of text, and what nobody sees (zero-width spaces, soft hyphens,
 * fillers): with these, two names of one look would be two deployments.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/**
 * Joiners and variation selectors where they change what is seen: within emoji and keycaps, behind ideographs, and in
 * scripts that are written with joiners (behind a mark such as a virama, and in Arabic).
 */
const SEEN = new RegExp(
  [
    String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})`,
    String.raw`(?<=\p{Extended_Pictographic})\ufe0f`,
    String.raw`(?<=\p{Emoji_Presentation})\ufe0e`,
    String.raw`(?<=[0-9#*])\ufe0f(?=\u20e3)`,
    String.raw`(?<=\p{Ideographic})[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]`,
    String.raw`(?<=(?!\p{Variation_Selector})[\p{M}\p{Script_Extensions=Arabic}])[\u200c\u200d](?=\p{L})`,
  ].join('|'),
  'gu',
);

/** At most 128 code points, as the document's maxLength counts. Asked of new names alone: those stored stay. */
export const deploymentNameSchema = line(MAX_NAME)
  .min(1)
  .refine((name) => name.trim() !== '', 'must not be blank')
  .refine(
    (name) => !UNSEEN.test(name.replace(SEEN, '')),
    'must consist of printable characters, none of which is invisible',
  );

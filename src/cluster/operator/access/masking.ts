/**
 * Masks credentials that can be told by their form: `scheme://user:password@host`, `password=x`, `"api_key": "x"`,
 * `Authorization: Bearer x`. The texts come from tenants' containers, so the time must grow with their length and no
 * faster. A regular expression that begins with a name tries each character of a long name anew; here a `:` or `=` is
 * looked for first, what stands before it is looked at over a bounded stretch, and what stands after it is read once.
 */

/** Names of what is worth hiding, as part of a longer name. */
const TELLING =
  /passwd|password|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|authorization/;
/** How far back a name is looked for, and before it quotes and blanks. */
const MOST_NAME = 64;
const MOST_BETWEEN = 12;
/** What is read of a text: kubelets pass on 4096 bytes of a container, others are cut. */
const MOST_READ = 16_384;

const MASK = '***';
const NAME_CHARACTER = /[\w-]/;
const BETWEEN = /[\\"'`\s]/;
const SEPARATOR = /[:=]/g;
const BEFORE_VALUE = /[\\\s]*(["'`]?)(?:(?:bearer|basic)\s+)?/iy;
const BARE_VALUE = /[^\s"'`\\,;&]+/y;
/** Up to the quote that ends it, or to the end of the line where none does. */
const QUOTED_VALUE = { '"': /[^"\\\n]+/y, "'": /[^'\\\n]+/y, '`': /[^`\\\n]+/y };
/** What stands between `://` and the path. */
const AUTHORITY = /[^\s/"'`]*/y;

/** Where the expression, which is sticky, ends when it begins at `from`. */
function endOf(
  expression: RegExp,
  text: string,
  from: number,
): { end: number; groups: (string | undefined)[] } {
  expression.lastIndex = from;
  const match = expression.exec(text);
  return match === null ? { end: from, groups: [] } : { end: from + match[0].length, groups: match.slice(1) };
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** The user info of the URL whose `://` begins at `at`: up to the last `@` before the path. */
function userInfo(text: string, at: number): Span | undefined {
  const from = at + '://'.length;
  const last = text.slice(from, endOf(AUTHORITY, text, from).end).lastIndexOf('@');
  return last > 0 ? { from, to: from + last } : undefined;
}

/** The value after the separator at `at`. */
function valueAfter(text: string, at: number): Span | undefined {
  const { end: from, groups } = endOf(BEFORE_VALUE, text, at + 1);
  const quote = groups[0] as keyof typeof QUOTED_VALUE | '' | undefined;
  const { end: to } = endOf(quote ? QUOTED_VALUE[quote] : BARE_VALUE, text, from);
  return to > from ? { from, to } : undefined;
}

/** Where the characters that fit begin, going back from `to`, at most `most` of them. */
function backOver(text: string, to: number, fits: RegExp, most: number): number {
  let from = to;
  while (from > 0 && to - from < most && fits.test(text.charAt(from - 1))) from -= 1;
  return from;
}

function credentialAt(text: string, at: number): Span | undefined {
  if (text.startsWith('://', at)) return userInfo(text, at);
  const to = backOver(text, at, BETWEEN, MOST_BETWEEN);
  const name = text.slice(backOver(text, to, NAME_CHARACTER, MOST_NAME), to);
  return TELLING.test(name.toLowerCase()) ? valueAfter(text, at) : undefined;
}

/**
 * A text of the cluster's or of a container's, with the credentials masked that can be told by their form. A container
 * may write anything when it ends, and a status is read by more people than its Secrets are.
 */
export function withoutCredentials(whole: string): string {
  const text = whole.slice(0, MOST_READ);
  let masked = '';
  let done = 0;
  SEPARATOR.lastIndex = 0;
  for (let found = SEPARATOR.exec(text); found !== null; found = SEPARATOR.exec(text)) {
    const span = credentialAt(text, found.index);
    if (span === undefined) continue;
    masked += text.slice(done, span.from) + MASK;
    done = span.to;
    SEPARATOR.lastIndex = done;
  }
  return masked + text.slice(done);
}

/** How much is kept of what a container wrote when it ended. */
const MOST_LAST_WORDS = 1000;

/**
 * What a container wrote when it ended, masked, and then cut to its end, where the error stands. Not the other way
 * round: half of a credential, without its name, cannot be told.
 */
export function outputTail(text: string): string {
  const masked = withoutCredentials(text);
  return masked.length <= MOST_LAST_WORDS ? masked : `…${masked.slice(1 - MOST_LAST_WORDS).toWellFormed()}`;
}

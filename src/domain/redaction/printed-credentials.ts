/**
 * Masks credentials that have a known form: `scheme://user:password@host`, `password=x`, `"api_key": "x"`,
 * `Authorization: Bearer x`. The texts come from tenants' containers, so the time must be linear in their length. A
 * regular expression that starts with a name would retry at each character of a long name. Instead, this code
 * searches for `:` or `=`, checks a bounded stretch before it, and reads the value after it once.
 */

/** Parts of names that mark a value as secret. */
const SENSITIVE_NAME =
  /passwd|password|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|authorization/;
/** Maximum number of characters to search backwards for a name, and for quotes and blanks after it. */
const MAX_NAME = 64;
const MAX_BETWEEN = 12;
/** Maximum input length. Kubelets report at most 4096 bytes of a container. Longer texts are cut. */
const MAX_INPUT = 16_384;
/** Marks where a text was cut. */
const CUT = '…';

const MASK = '***';
const NAME_CHARACTER = /[\w-]/;
const BETWEEN = /[\\"'`\s]/;
const SEPARATOR = /[:=]/g;
const BEFORE_VALUE = /[\\\s]*(["'`]?)(?:(?:bearer|basic)\s+)?/iy;
const BARE_VALUE = /[^\s"'`\\,;&]+/y;
/** A quoted value, up to the closing quote or the end of the line. */
const QUOTED_VALUE = { '"': /[^"\\\n]+/y, "'": /[^'\\\n]+/y, '`': /[^`\\\n]+/y };
/** The part of a URL between `://` and the path. */
const AUTHORITY = /[^\s/"'`]*/y;

/** End of a match of the sticky expression at `from`. */
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

/** The user info of the URL whose `://` begins at `at`. The user info ends at the last `@` before the path. */
function userInfo(text: string, at: number): Span | undefined {
  const from = at + '://'.length;
  const authority = text.slice(from, endOf(AUTHORITY, text, from).end);
  const last = authority.lastIndexOf('@');
  if (last > 0) return { from, to: from + last };
  // The `@` may be in the part that was cut off.
  const isCut = authority.endsWith(CUT) && authority.includes(':');
  return isCut ? { from, to: from + authority.length - CUT.length } : undefined;
}

/** The value after the separator at `at`. */
function valueAfter(text: string, at: number): Span | undefined {
  const { end: from, groups } = endOf(BEFORE_VALUE, text, at + 1);
  const quote = groups[0] as keyof typeof QUOTED_VALUE | '' | undefined;
  const { end: to } = endOf(quote ? QUOTED_VALUE[quote] : BARE_VALUE, text, from);
  return to > from ? { from, to } : undefined;
}

/** Start of the run of matching characters that ends at `to`, of at most `most` characters. */
function backOver(text: string, to: number, fits: RegExp, most: number): number {
  let from = to;
  while (from > 0 && to - from < most && fits.test(text.charAt(from - 1))) from -= 1;
  return from;
}

function credentialAt(text: string, at: number): Span | undefined {
  if (text.startsWith('://', at)) return userInfo(text, at);
  const to = backOver(text, at, BETWEEN, MAX_BETWEEN);
  const name = text.slice(backOver(text, to, NAME_CHARACTER, MAX_NAME), to);
  return SENSITIVE_NAME.test(name.toLowerCase()) ? valueAfter(text, at) : undefined;
}

/**
 * Masks credentials of a known form in a text of the cluster or of a container. A container may print anything when
 * it ends, and more people can read a status than its Secrets.
 */
export function maskCredentials(whole: string): string {
  const text = whole.slice(0, MAX_INPUT);
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
  masked += text.slice(done);
  return whole.length > MAX_INPUT ? `${masked}${CUT}` : masked;
}

/** Maximum length of a container's output in a status. */
const MAX_OUTPUT_TAIL = 1000;

/**
 * The end of a container's output, where the error is. The text is masked before it is cut, because half of a
 * credential without its name would not be recognized.
 */
export function outputTail(text: string): string {
  const masked = maskCredentials(text);
  return masked.length <= MAX_OUTPUT_TAIL
    ? masked
    : `${CUT}${masked.slice(1 - MAX_OUTPUT_TAIL).toWellFormed()}`;
}

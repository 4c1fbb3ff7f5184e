/** Control characters, and characters that change the direction of a line: a terminal does not show them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are escaped.
const HIDDEN = /[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function escaped(sign: string): string {
  const hex = sign.charCodeAt(0).toString(16);
  return hex.length <= 2 ? `\\x${hex.padStart(2, '0')}` : `\\u${hex.padStart(4, '0')}`;
}

/** One word of a POSIX shell. Control characters are written as escapes of `$'…'`, so that a terminal shows what is pasted. */
export function shellQuote(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (word.search(HIDDEN) === -1) return `'${word.replaceAll("'", `'\\''`)}'`;
  return `$'${word.replace(/['\\]/g, '\\$&').replace(HIDDEN, escaped)}'`;
}

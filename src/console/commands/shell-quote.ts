/** One word of a POSIX shell. Control characters are written as escapes of `$'…'`, so that a terminal shows what is pasted. */
export function shellQuote(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are escaped.
  if (!/[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(word))
    return `'${word.replaceAll("'", `'\\''`)}'`;
  const escaped = [...word].map((sign) => {
    const code = sign.codePointAt(0) ?? 0;
    if (sign === "'" || sign === '\\') return `\\${sign}`;
    const isHidden =
      code < 0x20 || (code >= 0x7f && code <= 0x9f) || /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(sign);
    if (!isHidden) return sign;
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`;
  });
  return `$'${escaped.join('')}'`;
}

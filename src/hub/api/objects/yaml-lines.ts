import { isObject } from '../../../domain/core/is-object.ts';

/**
 * Writes JSON values as YAML that YAML 1.1, YAML 1.2 and the parser of kubectl read as the same value. Libraries quote by the
 * rules of one version (docs/decisions/0142). Pure.
 */

type Mask = (text: string) => string;

const STEP = '  ';
/** Longer keys need the explicit form: parsers accept at most 1024 characters. */
const MAX_KEY = 128;

/** Characters that a parser can refuse, or read as a line break. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters on purpose
const SPECIAL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/;
/** Characters of those that JSON writes as they are. */
const UNESCAPED = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;
/**
 * Text that needs no quotes. It begins with a letter or another sign that begins no number, date or structure: kubectl reads
 * `0o_7`, `0X1F` and `1_000` as numbers, which no version of YAML defines.
 */
const PLAIN = /^[\p{L}_/$(](?:[^\n\t:#]|:(?! |$)|(?<! )#)*(?<! )$/u;
/** Words that a version of YAML reads as another type. */
const WORD = /^(?:y|yes|n|no|true|false|on|off|null)$/i;
/** Text with lines that can be written as they are: a parser finds the indentation in the first line. */
const BLOCK = /^[^ \t\n].*\n/;
const BLANK_END = /[ \t]\n*$/;

const escaped = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
const quoted = (text: string) => JSON.stringify(text).replace(UNESCAPED, escaped);

const isPlain = (text: string) => PLAIN.test(text) && !SPECIAL.test(text) && !WORD.test(text);

/** A text in one line. */
const inLine = (text: string) => (isPlain(text) ? text : quoted(text));

/** A text with several lines, below a line with this indentation. */
function block(text: string, indent: string): string {
  // Not a regular expression: it would begin again at each line break of a run in the middle of the text.
  let end = 0;
  while (text.at(-1 - end) === '\n') end += 1;
  const lines = text.slice(0, text.length - end).split('\n');
  const mark = end === 0 ? '|-' : end === 1 ? '|' : '|+';
  const written = lines.map((line) => (line === '' ? '' : `${indent}${line}`)).join('\n');
  return `${mark}\n${written}${'\n'.repeat(Math.max(0, end - 1))}`;
}

function scalar(value: unknown, indent: string, mask: Mask): string {
  if (typeof value !== 'string') return JSON.stringify(value ?? null);
  const text = mask(value).toWellFormed();
  const isBlock = BLOCK.test(text) && !BLANK_END.test(text) && !SPECIAL.test(text);
  return isBlock ? block(text, indent) : inLine(text);
}

const isEmpty = (value: unknown) =>
  Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;

/** Whether a value is written in the lines below its key. */
const isNested = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !isEmpty(value);

/** The beginning of a line with a key. */
function keyOf(key: string, indent: string): string {
  const text = inLine(key.toWellFormed());
  return text.length <= MAX_KEY ? `${text}:` : `? ${text}\n${indent}:`;
}

/**
 * The lines of a value, one for each scalar. Each text is masked when its line is taken, and keys are kept.
 * @param lead what stands before the first line instead of its indentation
 */
function* linesOf(value: unknown, indent: string, lead: string, mask: Mask): Generator<string> {
  if (!isNested(value)) {
    yield `${lead}${isEmpty(value) ? JSON.stringify(value) : scalar(value, indent, mask)}`;
    return;
  }
  let before = lead;
  if (Array.isArray(value)) {
    for (const item of value) {
      yield* linesOf(item, `${indent}${STEP}`, `${before}- `, mask);
      before = indent;
    }
    return;
  }
  for (const [key, member] of Object.entries(value)) {
    const head = `${before}${keyOf(key, indent)}`;
    const inner = `${indent}${STEP}`;
    if (isNested(member)) {
      yield head;
      yield* linesOf(member, inner, inner, mask);
    } else yield* linesOf(member, inner, `${head} `, mask);
    before = indent;
  }
}

/** The lines of a value as YAML, without line breaks at their ends. */
export const yamlLines = (value: unknown, mask: Mask): Generator<string> => linesOf(value, '', '', mask);

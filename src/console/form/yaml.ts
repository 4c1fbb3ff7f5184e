import { LineCounter, parseDocument, stringify } from 'yaml';
import { isObject, type Json, type JsonObject, type Path } from './json.ts';

/** Documents as YAML. */

export const toYaml = (value: Json): string =>
  stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });

export interface YamlError {
  /** null: the error is not at one place. */
  readonly line: number | null;
  readonly message: string;
}

export type ParsedYaml =
  | {
      readonly document: JsonObject;
      /** Line of the field, or of the nearest one that contains it; null: it is not in the text. */
      readonly lineOf: (path: Path) => number | null;
    }
  | { readonly errors: readonly YamlError[] };

/** The first line of an error. The others repeat the text. */
const firstLine = (message: string) =>
  message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? '';

/** Aliases could make a short text large. */
const MAX_ALIASES = 100;

function parsedText(text: string): ReturnType<typeof parseDocument> & { readonly lines: LineCounter } {
  const lines = new LineCounter();
  const parsed = parseDocument(text, { lineCounter: lines, prettyErrors: true, version: '1.2' });
  return Object.assign(parsed, { lines });
}

/** The document of a text. null members are left out, because they mean absent. */
export function fromYaml(text: string): ParsedYaml {
  const parsed = parsedText(text);
  const errors = [...parsed.errors, ...parsed.warnings].map(({ message, linePos }) => ({
    line: linePos?.[0].line ?? null,
    message: firstLine(message),
  }));
  if (errors.length > 0) return { errors };
  let value: unknown;
  try {
    value = parsed.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    return { errors: [{ line: null, message: error instanceof Error ? error.message : String(error) }] };
  }
  if (!isObject(value))
    return { errors: [{ line: 1, message: 'The document must have fields, such as source_config.' }] };
  const lineOf = (path: Path): number | null => {
    for (let length = path.length; length > 0; length -= 1) {
      const node: unknown = parsed.getIn(path.slice(0, length), true);
      const range = typeof node === 'object' && node !== null && 'range' in node ? node.range : null;
      if (Array.isArray(range)) return parsed.lines.linePos(range[0] as number).line;
    }
    return null;
  };
  return { document: withoutNulls(value) as JsonObject, lineOf };
}

function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}

/** The value of a field that is entered as YAML, or why the text has no value. An empty text is absent. */
export function valueOfYaml(text: string): { readonly value: Json | undefined } | { readonly error: string } {
  const parsed = parsedText(text);
  const [error] = parsed.errors;
  if (error !== undefined) return { error: firstLine(error.message) };
  try {
    const value = parsed.toJS({ maxAliasCount: MAX_ALIASES }) as Json | undefined;
    return { value: value == null ? undefined : withoutNulls(value) };
  } catch (failure) {
    // An alias (*name) without its anchor, or too many aliases.
    return { error: firstLine(String(failure)) };
  }
}

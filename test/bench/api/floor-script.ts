/** The statements that Berth sends to PostgreSQL for a request, as a script that a floor can run for other requests. Pure. */
import type { SentStatement, SentValue } from './statement-recorder.ts';

/** A value of a statement in a script. */
export type ScriptValue =
  /** Equal in every request. */
  | { readonly kind: 'constant'; readonly value: string | null }
  | { readonly kind: 'bytes'; readonly base64: string }
  /** The id in the path of the request. */
  | { readonly kind: 'path id' }
  /** An id that is new in each request. Equal numbers stand for equal ids. */
  | { readonly kind: 'new id'; readonly number: number }
  /** A text in which `{{name}}` stands for the name in the request. */
  | { readonly kind: 'named'; readonly text: string };

/** One statement of a script. */
export interface ScriptStatement {
  readonly text: string;
  /** null for a simple query. */
  readonly values: readonly ScriptValue[] | null;
  readonly named: boolean;
}

export type Script = readonly ScriptStatement[];

/** One request, and the statements that were sent for it. */
export interface RecordedRequest {
  /** The name in the body. null if the body has no name. */
  readonly name: string | null;
  /** The id in the path. null if the path has no id. */
  readonly pathId: string | null;
  readonly statements: readonly SentStatement[];
}

const PLACE = '{{name}}';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A text that is equal if two requests led to the same statements, regardless of their values. */
export const shapeOf = (statements: readonly SentStatement[]) =>
  JSON.stringify(statements.map(({ text, values, named }) => [text, values?.length ?? null, named]));

/** The largest group of requests with the same statements. The others contain background work of the server. */
export function mostCommon(requests: readonly RecordedRequest[]): RecordedRequest[] {
  const groups = Object.values(Object.groupBy(requests, ({ statements }) => shapeOf(statements)));
  return groups.reduce<RecordedRequest[]>(
    (best, group = []) => (group.length > best.length ? group : best),
    [],
  );
}

const same = (a: SentValue, b: SentValue) =>
  Buffer.isBuffer(a) ? Buffer.isBuffer(b) && a.equals(b) : a === b;

/**
 * The script of two requests that differ only in name, ids and random values.
 * @throws Error with the statement, if another value differs
 */
export function toScript(first: RecordedRequest, second: RecordedRequest): Script {
  const ids = new Map<string, number>();
  const numberOf = (id: string) => {
    const number = ids.get(id) ?? ids.size;
    ids.set(id, number);
    return number;
  };
  const toValue = (value: SentValue, other: SentValue, where: string): ScriptValue => {
    if (Buffer.isBuffer(value)) return { kind: 'bytes', base64: value.toString('base64') };
    if (same(value, other) || value === null) return { kind: 'constant', value };
    if (value === first.pathId) return { kind: 'path id' };
    if (UUID.test(value)) return { kind: 'new id', number: numberOf(value) };
    if (first.name !== null && value.includes(first.name))
      return { kind: 'named', text: value.replaceAll(first.name, PLACE) };
    throw new Error(`failed to make a floor: unexpected value in ${where}`);
  };
  if (shapeOf(first.statements) !== shapeOf(second.statements))
    throw new Error('failed to make a floor: two similar requests led to different statements');
  return first.statements.map(({ text, values, named }, at) => ({
    text,
    named,
    values:
      values?.map((value, index) =>
        toValue(value, second.statements[at]?.values?.[index] ?? null, text.trim().slice(0, 60)),
      ) ?? null,
  }));
}

/** The values of a statement for one request. @param newId generates ids */
export function valuesFor(
  statement: ScriptStatement,
  request: { readonly name: string | null; readonly pathId: string | null },
  ids: Map<number, string>,
  newId: () => string,
): (string | Buffer | null)[] {
  const toSent = (value: ScriptValue): string | Buffer | null => {
    if (value.kind === 'constant') return value.value;
    if (value.kind === 'bytes') return Buffer.from(value.base64, 'base64');
    if (value.kind === 'path id') return request.pathId;
    if (value.kind === 'named') return value.text.replaceAll(PLACE, request.name ?? '');
    const id = ids.get(value.number) ?? newId();
    ids.set(value.number, id);
    return id;
  };
  return (statement.values ?? []).map(toSent);
}

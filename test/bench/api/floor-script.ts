/** What Berth sent to PostgreSQL for a request, as a script that a floor can play for any other request. Pure. */
import type { SentStatement, SentValue } from './statement-recorder.ts';

/** A value of a statement in a script. */
export type ScriptValue =
  /** The same in each request. */
  | { readonly kind: 'constant'; readonly value: string | null }
  | { readonly kind: 'bytes'; readonly base64: string }
  /** The id of the request's path. */
  | { readonly kind: 'path id' }
  /** An id that is new in each request: the same number, the same id. */
  | { readonly kind: 'new id'; readonly number: number }
  /** A text with the request's name in it, where `{{name}}` stands. */
  | { readonly kind: 'named'; readonly text: string };

export interface ScriptStatement {
  readonly text: string;
  /** null: a simple query. */
  readonly values: readonly ScriptValue[] | null;
  readonly named: boolean;
}

export type Script = readonly ScriptStatement[];

/** One request, with what was sent for it. */
export interface RecordedRequest {
  /** The name in its body; null: it has none. */
  readonly name: string | null;
  /** The id in its path; null: it has none. */
  readonly pathId: string | null;
  readonly statements: readonly SentStatement[];
}

const PLACE = '{{name}}';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What two requests have to have in common. */
export const shapeOf = (statements: readonly SentStatement[]) =>
  JSON.stringify(statements.map(({ text, values, named }) => [text, values?.length ?? null, named]));

/** The requests whose statements most of them have: what the server does beside requests stands out. */
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
 * The script of two requests that differ in nothing but name, ids and what is random.
 * @throws Error that names a value that differs for no known reason
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
    throw new Error(`failed to make a floor: nothing explains a value of ${where}`);
  };
  if (shapeOf(first.statements) !== shapeOf(second.statements))
    throw new Error('failed to make a floor: two requests alike led to different statements');
  return first.statements.map(({ text, values, named }, at) => ({
    text,
    named,
    values:
      values?.map((value, index) =>
        toValue(value, second.statements[at]?.values?.[index] ?? null, text.trim().slice(0, 60)),
      ) ?? null,
  }));
}

/** Values for one request. @param newId makes ids */
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

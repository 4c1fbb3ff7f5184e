import { LineCounter, parseAllDocuments } from 'yaml';
import type { ApplyDeploymentInput } from '../api.gen.ts';
import { firstError, isObject, PARSING, parsedValue } from '../body-file.ts';
import { cell } from '../table.ts';
import { normalName } from './names.ts';

/** The documents of a file: YAML or JSON with the fields of a POST and `tags`. Pure. */

/** Where a document stands. */
export interface Place {
  readonly file: string;
  /** Number of the document in its file, from 1. */
  readonly number: number;
}

/** Why a document is invalid. Never quotes a value, because it may be a secret. */
export interface Problem {
  readonly place: Place;
  /** Name of the deployment, if it is known. */
  readonly name: string | null;
  /** Such as `secrets[0].name`. null: the whole document. */
  readonly field: string | null;
  readonly reason: string;
}

/** A source of a secret value outside of the file. */
export type ValueFrom = { readonly env: string } | { readonly file: string };

export type FileSecret = { readonly name: string } & (
  | { readonly value: string }
  | { readonly valueFrom: ValueFrom }
);

/** The values of each tag. */
export type Tags = ReadonlyMap<string, readonly string[]>;

/** A deployment as a document describes it. */
export interface DeploymentDocument {
  readonly place: Place;
  readonly name: string;
  /** The fields that the API validates. */
  readonly fields: Pick<
    ApplyDeploymentInput,
    'source' | 'source_config' | 'source_revision_config' | 'secret_references'
  >;
  /** null: the stored secrets are kept. */
  readonly secrets: readonly FileSecret[] | null;
  /** null: the stored tags are kept. */
  readonly tags: Tags | null;
}

export interface Parsed {
  readonly documents: readonly DeploymentDocument[];
  readonly problems: readonly Problem[];
}

/** A problem as one line. */
export function problemLine({ place, name, field, reason }: Problem): string {
  const called = name === null ? '' : ` (${cell(name)})`;
  return `${place.file}: document ${place.number}${called}: ${field === null ? '' : `${field}: `}${reason}`;
}

type Report = (field: string | null, reason: string) => void;

const FIELDS = [
  'name',
  'source',
  'source_config',
  'source_revision_config',
  'secrets',
  'secret_references',
  'tags',
];
const TEXT = 'must be a string; put numbers, true and false in quotes';

function checkFields(value: Record<string, unknown>, known: readonly string[], at: string, report: Report) {
  for (const field of Object.keys(value))
    if (!known.includes(field))
      report(`${at}${field}`, `is not a known field: the fields are ${known.join(', ')}`);
}

function valueFrom(given: unknown, field: string, report: Report): ValueFrom | null {
  const entries = isObject(given) ? Object.entries(given) : [];
  const [[kind, source] = []] = entries;
  if (entries.length !== 1 || typeof source !== 'string' || source === '') {
    report(field, 'must be {env: NAME} or {file: PATH}');
    return null;
  }
  if (kind === 'env') return { env: source };
  if (kind === 'file') return { file: source };
  report(field, 'must be {env: NAME} or {file: PATH}');
  return null;
}

function secretOf(given: unknown, field: string, report: Report): FileSecret | null {
  if (!isObject(given)) {
    report(field, 'must be an object with name, and value or value_from');
    return null;
  }
  checkFields(given, ['name', 'value', 'value_from'], `${field}.`, report);
  const { name, value, value_from: source } = given;
  if (typeof name !== 'string') report(`${field}.name`, name === undefined ? 'is required' : TEXT);
  if ((value === undefined) === (source === undefined)) {
    report(field, 'must have either value or value_from');
    return null;
  }
  if (typeof name !== 'string') return null;
  if (source !== undefined) {
    const from = valueFrom(source, `${field}.value_from`, report);
    return from === null ? null : { name, valueFrom: from };
  }
  if (typeof value === 'string') return { name, value };
  report(`${field}.value`, TEXT);
  return null;
}

function secretsOf(given: unknown, report: Report): readonly FileSecret[] | null {
  if (given === undefined || given === null) return null;
  if (!Array.isArray(given)) {
    report('secrets', 'must be a list');
    return null;
  }
  return given
    .map((each, index) => secretOf(each, `secrets[${index}]`, report))
    .filter((each) => each !== null);
}

function tagsOf(given: unknown, report: Report): Tags | null {
  if (given === undefined || given === null) return null;
  if (!isObject(given)) {
    report('tags', 'must be an object such as {team: payments}');
    return null;
  }
  const tags = new Map<string, readonly string[]>();
  for (const [key, value] of Object.entries(given)) {
    const values = Array.isArray(value) ? value : [value];
    const isText = values.length > 0 && values.every((each) => typeof each === 'string' && each !== '');
    if (!isText) report(`tags.${key}`, 'must be a string or a list of strings; put numbers in quotes');
    else tags.set(normalName(key), [...new Set(values.map((each: string) => normalName(each)))]);
  }
  return tags;
}

function nameOf(given: unknown, report: Report): string | null {
  if (typeof given !== 'string') {
    report('name', given === undefined ? 'is required' : TEXT);
    return null;
  }
  const name = normalName(given);
  // A client resolves these names in the path of a request.
  if (['', '.', '..'].includes(name)) report('name', 'must not be empty, . or ..');
  return name;
}

/** The API checks the content of these fields. */
function checkConfig(given: Record<string, unknown>, report: Report): void {
  if (typeof given['source'] !== 'string')
    report('source', given['source'] === undefined ? 'is required' : TEXT);
  for (const field of ['source_config', 'source_revision_config'])
    if (!isObject(given[field]))
      report(field, given[field] === undefined ? 'is required' : 'must be an object');
}

/** One document. */
function documentOf(value: unknown, place: Place): DeploymentDocument | Problem[] {
  if (!isObject(value))
    return [{ place, name: null, field: null, reason: 'must be an object with the fields of a deployment' }];
  const found: Omit<Problem, 'name'>[] = [];
  const report: Report = (field, reason) => void found.push({ place, field, reason });
  checkFields(value, FIELDS, '', report);
  const name = nameOf(value['name'], report);
  checkConfig(value, report);
  const secrets = secretsOf(value['secrets'], report);
  const tags = tagsOf(value['tags'], report);
  if (found.length > 0 || name === null) return found.map((problem) => ({ ...problem, name }));
  const { source, source_config, source_revision_config, secret_references } = value;
  const references = secret_references === undefined ? {} : { secret_references };
  const fields = {
    source,
    source_config,
    source_revision_config,
    ...references,
  } as DeploymentDocument['fields'];
  return { place, name, fields, secrets, tags };
}

/** The documents of a file. Empty documents are skipped. */
export function parseDocuments(file: string, text: string): Parsed {
  const lineCounter = new LineCounter();
  const documents: DeploymentDocument[] = [];
  const problems: Problem[] = [];
  // Every JSON text is valid YAML.
  for (const [index, each] of parseAllDocuments(text, { ...PARSING, lineCounter }).entries()) {
    const place = { file, number: index + 1 };
    const read = parsedValue(each);
    if ('reason' in read) {
      const error = firstError(each);
      const line = error === undefined ? '' : ` in line ${lineCounter.linePos(error.pos[0]).line}`;
      problems.push({ place, name: null, field: null, reason: `${read.reason}${line}` });
    } else if (read.value !== null && read.value !== undefined) {
      const made = documentOf(read.value, place);
      if (Array.isArray(made)) problems.push(...made);
      else documents.push(made);
    }
  }
  return { documents, problems };
}

/** The documents that describe the deployment of an earlier document. */
export function repeatedNames(documents: readonly DeploymentDocument[]): Problem[] {
  const first = new Map<string, Place>();
  return documents.flatMap(({ name, place }) => {
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, place);
      return [];
    }
    const reason = `is also the name of document ${earlier.number} of ${earlier.file}`;
    return [{ place, name, field: 'name', reason }];
  });
}

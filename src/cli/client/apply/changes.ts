import type { Deployment, FieldChange } from '../api.gen.ts';
import { isObject } from '../body-file.ts';
import { cell } from '../table.ts';
import type { Tags } from './documents.ts';

/** Differences between a document and a deployment, field by field. Pure. */

const MASK = '**********';

const sorted = (values: readonly string[] | undefined): string[] => [...(values ?? [])].sort();
/** One value as a string, several as a list. */
const shown = (values: readonly string[]): unknown => (values.length > 1 ? values : (values[0] ?? null));

/** The changed tags. A tag is a field, such as `tags.team`. */
export function tagChanges(before: Tags, after: Tags): FieldChange[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])].sort();
  return keys.flatMap((key) => {
    const [old, wanted] = [sorted(before.get(key)), sorted(after.get(key))];
    if (old.join('\n') === wanted.join('\n')) return [];
    return [{ field: `tags.${key}`, before: shown(old), after: shown(wanted) }];
  });
}

/** The parts of a deployment whose members are fields of their own. All other objects are one field. */
const PARTS: ReadonlySet<string> = new Set([
  'source_config',
  'source_config.resource_spec',
  'source_revision_config.commands',
]);

function differences(path: string, before: unknown, after: unknown): FieldChange[] {
  if (PARTS.has(path) && (isObject(before) || isObject(after))) return members(path, before, after);
  const isSame = JSON.stringify(before ?? null) === JSON.stringify(after ?? null);
  return isSame ? [] : [{ field: path, before: before ?? null, after: after ?? null }];
}

function members(path: string, before: unknown, after: unknown): FieldChange[] {
  const [old, now] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return names.flatMap((name) => differences(`${path}.${name}`, old[name], now[name]));
}

function secretChanges(before: Deployment, after: Deployment): FieldChange[] {
  const [old, now] = [before, after].map(({ secrets }) => new Set(secrets.map(({ name }) => name)));
  const state = (names: ReadonlySet<string> | undefined, name: string) => (names?.has(name) ? MASK : null);
  const names = [...new Set([...(old ?? []), ...(now ?? [])])];
  return names.flatMap((name) => {
    const change = { field: `secrets.${name}`, before: state(old, name), after: state(now, name) };
    return change.before === change.after ? [] : [change];
  });
}

type RevisionConfig = Deployment['source_revision_config'];

/** Each variable is a field. If only the order of variables changed, the list is one field. */
function variableChanges({ env: before = [] }: RevisionConfig, { env: after = [] }: RevisionConfig) {
  const path = 'source_revision_config.env';
  const values = (list: typeof before) => Object.fromEntries(list.map(({ name, value }) => [name, value]));
  const single = members(path, values(before), values(after));
  return single.length > 0 ? single : differences(path, before, after);
}

function revisionChanges(before: RevisionConfig, after: RevisionConfig): FieldChange[] {
  const [{ env: _old, ...old }, { env: _now, ...now }] = [before, after];
  return [...members('source_revision_config', old, now), ...variableChanges(before, after)];
}

/** Each reference is a field. If only their order changed, the list is one field. */
function referenceChanges(
  { secret_references: before = [] }: Deployment,
  { secret_references: after = [] }: Deployment,
) {
  const path = 'secret_references';
  const secrets = (list: typeof before) =>
    Object.fromEntries(list.map(({ name, ...secret }) => [name, secret]));
  const single = members(path, secrets(before), secrets(after));
  return single.length > 0 ? single : differences(path, before, after);
}

/** What changed between two reads of a deployment. Masked values of secrets cannot be compared. */
export function readChanges(before: Deployment, after: Deployment): FieldChange[] {
  return [
    ...members('source_config', before.source_config, after.source_config),
    ...revisionChanges(before.source_revision_config, after.source_revision_config),
    ...secretChanges(before, after),
    ...referenceChanges(before, after),
  ];
}

/** A value of a change. */
const text = (value: unknown): string => (value === null ? 'not set' : cell(JSON.stringify(value)));

/** A change as one line. */
export function changeLine({ field, before, after }: FieldChange): string {
  const isHidden = before === MASK && after === MASK;
  return isHidden ? `${cell(field)}: the value differs` : `${cell(field)}: ${text(before)} → ${text(after)}`;
}

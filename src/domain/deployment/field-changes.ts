import { sameJson } from '../core/same-json.ts';
import { DATA_SERVICE_SETTINGS } from '../pod-settings/data-services.ts';
import { COMPONENT_SETTINGS } from '../pod-settings/pod-settings.ts';
import { SECRET_MASK } from '../redaction/secret-list.ts';
import { fromRelease } from '../run-settings/release-schema.ts';
import type { SecretReference, Variable } from '../run-settings/run-settings.ts';
import { fromSecretReferences } from '../run-settings/secret-reference-schema.ts';
import type { Secret, SourceConfig, SourceRevisionConfig } from './deployment.ts';
import type { Source } from './source.ts';

/** Differences between two desired states, field by field. Values of secrets are never part of a difference. */

export interface Configs {
  readonly sourceConfig: SourceConfig;
  readonly sourceRevisionConfig: SourceRevisionConfig;
}

/** One changed field. null: the field is not set. */
export interface FieldChange {
  /** Path below the body: `source_config.resource_spec.cpu`. Lists and maps are one field. */
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

function differing(before: object, after: object, prefix: string): FieldChange[] {
  const old: Record<string, unknown> = { ...before };
  const fresh: Record<string, unknown> = { ...after };
  return [...new Set([...Object.keys(old), ...Object.keys(fresh)])]
    .map((field) => ({
      field: `${prefix}${field}`,
      before: old[field] ?? null,
      after: fresh[field] ?? null,
    }))
    .filter((change) => !sameJson(change.before, change.after));
}

/** Settings whose members are compared one by one. */
const OBJECT_SETTINGS = [...COMPONENT_SETTINGS, ...DATA_SERVICE_SETTINGS] as const;

const NESTED: ReadonlySet<string> = new Set([
  'resource_spec',
  'listener_config',
  'default_ceilings',
  ...OBJECT_SETTINGS,
]);

/** The fields of source_config that clients can set, apart from nested objects. */
function flatConfig(config: Partial<SourceConfig>): object {
  return Object.fromEntries(Object.entries(config).filter(([field]) => !NESTED.has(field)));
}

function sourceConfigChanges(before: Partial<SourceConfig>, after: SourceConfig): FieldChange[] {
  const [old, fresh] = [before.resource_spec ?? null, after.resource_spec];
  const spec = differing(old ?? {}, fresh ?? {}, 'source_config.resource_spec.');
  return [
    ...differing(flatConfig(before), flatConfig(after), 'source_config.'),
    ...differing(before.listener_config ?? {}, after.listener_config ?? {}, 'source_config.listener_config.'),
    ...OBJECT_SETTINGS.flatMap((field) =>
      differing(before[field] ?? {}, after[field] ?? {}, `source_config.${field}.`),
    ),
    // An empty resource_spec differs from an absent one.
    ...(spec.length > 0
      ? spec
      : differing({ resource_spec: old }, { resource_spec: fresh }, 'source_config.')),
  ];
}

const VARIABLE = 'source_revision_config.env.';

const valuesByName = (variables: readonly Variable[]) =>
  Object.fromEntries(variables.map(({ name, value }) => [name, value]));

/** The changed variables, as `source_revision_config.env.NAME`. If only their order changes, the list is one field. */
function variableChanges(before: readonly Variable[], after: readonly Variable[]): FieldChange[] {
  const single = differing(valuesByName(before), valuesByName(after), VARIABLE);
  const whole = () => differing({ env: before }, { env: after }, 'source_revision_config.');
  return single.length > 0 ? single : whole();
}

const REFERENCE = 'secret_references.';

const referencesByName = (references: readonly SecretReference[]) =>
  Object.fromEntries(fromSecretReferences(references).map(({ name, ...secret }) => [name, secret]));

/** The changed references, as `secret_references.NAME`. If only their order changes, the list is one field. */
function referenceChanges(
  before: readonly SecretReference[],
  after: readonly SecretReference[],
): FieldChange[] {
  const single = differing(referencesByName(before), referencesByName(after), REFERENCE);
  const whole = () =>
    differing(
      { secret_references: fromSecretReferences(before) },
      { secret_references: fromSecretReferences(after) },
      '',
    );
  return single.length > 0 ? single : whole();
}

function revisionConfigChanges(
  before: Partial<SourceRevisionConfig>,
  after: SourceRevisionConfig,
): FieldChange[] {
  // The Procfile follows from the commit or the image, which are fields of their own, and so does the end of an upload.
  const {
    commands: oldCommands = {},
    env: oldEnv = [],
    secretReferences: oldReferences = [],
    procfile: _oldProcfile,
    upload: _oldUpload,
    releaseCommand: _oldCommand,
    releaseTimeoutSeconds: _oldTimeout,
    releaseSkipped: _oldSkipped,
    ...old
  } = before;
  const {
    commands = {},
    env = [],
    secretReferences = [],
    procfile: _newProcfile,
    upload: _newUpload,
    releaseCommand: _newCommand,
    releaseTimeoutSeconds: _newTimeout,
    releaseSkipped: _newSkipped,
    ...fresh
  } = after;
  return [
    ...differing(
      { ...old, ...fromRelease(before) },
      { ...fresh, ...fromRelease(after) },
      'source_revision_config.',
    ),
    ...differing(oldCommands, commands, 'source_revision_config.commands.'),
    ...variableChanges(oldEnv, env),
    ...referenceChanges(oldReferences, secretReferences),
  ];
}

/** The paths of changed fields, with all variables and all references as one path each, because there can be many. */
export function changedPaths(changes: readonly FieldChange[]): string[] {
  const lists = [VARIABLE, REFERENCE];
  const paths = changes.map(({ field }) => {
    const list = lists.find((prefix) => field.startsWith(prefix));
    return list === undefined ? field : list.slice(0, -1);
  });
  return [...new Set(paths)];
}

/** The changed fields of both configurations. @param before null: the deployment is new */
export function configChanges(before: Configs | null, after: Configs): FieldChange[] {
  return [
    ...sourceConfigChanges(before?.sourceConfig ?? {}, after.sourceConfig),
    ...revisionConfigChanges(before?.sourceRevisionConfig ?? {}, after.sourceRevisionConfig),
  ];
}

/** The changed secrets, as `secrets.NAME`. The values are the mask; null: the secret does not exist. */
export function secretChanges(before: readonly Secret[], after: readonly Secret[]): FieldChange[] {
  const old = new Map(before.map(({ name, value }) => [name, value]));
  const fresh = new Map(after.map(({ name, value }) => [name, value]));
  const masked = (values: ReadonlyMap<string, string>, name: string) =>
    values.has(name) ? SECRET_MASK : null;
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .filter((name) => old.get(name) !== fresh.get(name))
    .map((name) => ({ field: `secrets.${name}`, before: masked(old, name), after: masked(fresh, name) }));
}

/** The fields of a new deployment. */
export function creationChanges(
  created: Configs & { readonly name: string; readonly source: Source; readonly secrets: readonly Secret[] },
): FieldChange[] {
  const { name, source, secrets } = created;
  return [
    ...differing({}, { name, source }, ''),
    ...configChanges(null, created),
    ...secretChanges([], secrets),
  ];
}

import type { FieldGroup } from '../form/form-context.ts';
import { type Path, pathText } from '../form/json.ts';
import type { Field } from '../form/schema.ts';

/** The groups in which fields are shown, by their names. What no group names is in the last one. */

const RESOURCE_SPEC = [
  ['api: pods and sizes', /^(min_scale|max_scale|cpu|cpu_limit|memory_mb|memory_limit_mb)$/],
  ['queue: pods and sizes', /^queue_/],
  ['orchestrator: pods and sizes', /^orchestrator_/],
  ['executor: sizes', /^executor_/],
  ['cache: sizes', /^cache_/],
  ['database: sizes', /^db_/],
] as const;

export function groupsOf(path: Path, fields: readonly Field[]): readonly FieldGroup[] | null {
  if (pathText(path) !== 'source_config.resource_spec') return null;
  const groups = RESOURCE_SPEC.map(([title, names]) => ({
    title: title as string,
    fields: fields.filter(({ name }) => names.test(name)),
  }));
  const grouped = new Set(groups.flatMap(({ fields: each }) => each));
  const rest = fields.filter((field) => !grouped.has(field));
  return [...groups, { title: 'pods: labels, volumes and containers', fields: rest }].filter(
    (group) => group.fields.length > 0,
  );
}

/** Fields that only deployments of a repository have. */
const OF_REPOSITORIES: ReadonlySet<string> = new Set([
  ...['integration_id', 'repo_url', 'build_on_push', 'install_command', 'build_command'],
  ...['repo_ref', 'workflow_config_path'],
]);

/** The form for deployments with a source: without fields that such deployments never have. */
export function fieldsFor(source: string, field: Field): Field {
  if (source === 'git_host' || field.kind.kind !== 'struct') return field;
  const fields = field.kind.fields
    .filter(({ name }) => !OF_REPOSITORIES.has(name))
    .map((each) => fieldsFor(source, each));
  return { ...field, kind: { kind: 'struct', fields } };
}

const IMAGE = [['source_revision_config', 'image_uri']] as const;
const REPOSITORY = [['source_revision_config', 'repo_ref']] as const;

/** The fields that most changes are about. */
export const leadOf = (source: string): readonly (readonly string[])[] =>
  source === 'git_host' ? REPOSITORY : IMAGE;

import type { Policy, Repository } from '../api/types.ts';
import { changeField } from '../edit/document.ts';
import { fieldsFor } from '../edit/groups.ts';
import { isObject, type Json, type JsonObject, withValueAt } from '../form/json.ts';
import { bodyField, type Field } from '../form/schema.ts';
import type { Kind } from './kind-of.ts';
import samples from './samples.gen.json' with { type: 'json' };

/** What the form of each kind begins with and shows. */

const EMPTY = { name: '', source_config: {}, source_revision_config: {}, secrets: [] } as const;

type Hosting = Policy['hosting'];

/** Sources that the API rejects in a hosting mode. Repositories are built in cloud only. */
const REJECTED: Readonly<Record<Hosting, string>> = { cloud: 'external_image', self_hosted: 'git_host' };

/** Images are external, or in the registry of the platform. @param hosting null: not known */
const imageSources = (hosting: Hosting | null): readonly string[] =>
  ['external_image', 'internal_image'].filter((source) => hosting === null || source !== REJECTED[hosting]);

/** The samples that the hosting mode allows. @param hosting null: not known */
export const samplesFor = (hosting: Hosting | null): readonly JsonObject[] =>
  SAMPLES.filter(({ source }) => hosting === null || source !== REJECTED[hosting]);

/** Whether repositories can be deployed. @param hosting null: not known */
export const buildsRepositories = (hosting: Hosting | null): boolean =>
  hosting === null || REJECTED[hosting] !== 'git_host';

/** What the form begins with. */
export function startOf(kind: Kind, hosting: Hosting | null): JsonObject {
  if (kind === 'sample') return samplesFor(hosting)[0] ?? EMPTY;
  return { ...EMPTY, source: kind === 'repository' ? 'git_host' : (imageSources(hosting)[0] ?? '') };
}

/** The deployments of the repository of Berth that show what a request can contain. */
export const SAMPLES = samples as unknown as readonly JsonObject[];

const nameOf = (value: Json | undefined): string[] => (typeof value === 'string' ? [value] : []);

/** Members that name an object, with its kind. */
const REFERENCES: Readonly<Record<string, (value: Json) => string[]>> = {
  service_account_name: (value) => nameOf(value).map((name) => `ServiceAccount ${name}`),
  image_pull_secrets: (value) =>
    (Array.isArray(value) ? value : []).flatMap((each) =>
      isObject(each) ? nameOf(each['name']).map((name) => `Secret ${name}`) : [],
    ),
  configMap: (value) => (isObject(value) ? nameOf(value['name']).map((name) => `ConfigMap ${name}`) : []),
  configMapRef: (value) => (isObject(value) ? nameOf(value['name']).map((name) => `ConfigMap ${name}`) : []),
  configMapKeyRef: (value) =>
    isObject(value) ? nameOf(value['name']).map((name) => `ConfigMap ${name}`) : [],
  secret: (value) =>
    isObject(value) ? nameOf(value['secretName'] ?? value['name']).map((name) => `Secret ${name}`) : [],
  secretRef: (value) => (isObject(value) ? nameOf(value['name']).map((name) => `Secret ${name}`) : []),
  secretKeyRef: (value) => (isObject(value) ? nameOf(value['name']).map((name) => `Secret ${name}`) : []),
  persistentVolumeClaim: (value) =>
    isObject(value) ? nameOf(value['claimName']).map((name) => `PersistentVolumeClaim ${name}`) : [],
  secret_name: (value) => nameOf(value).map((name) => `Secret ${name}`),
};

/** The objects that a deployment uses and Berth does not create, such as `Secret registry-credentials`. */
export function neededObjects(value: Json): readonly string[] {
  const found = (each: Json): string[] => {
    if (Array.isArray(each)) return each.flatMap(found);
    if (!isObject(each)) return [];
    return Object.entries(each).flatMap(([name, member]) => [
      ...(REFERENCES[name]?.(member) ?? []),
      ...found(member),
    ]);
  };
  return [...new Set(found(value))].toSorted();
}

/** The form of a new deployment. An image and a repository have different fields. */
export function createField(source: string, hosting: Hosting | null): Field {
  const field = bodyField('CreateDeploymentInput');
  const change = changeField();
  if (field.kind.kind !== 'struct' || change.kind.kind !== 'struct') return field;
  const editable = new Map(change.kind.fields.map((each) => [each.name, each]));
  const fields = field.kind.fields.map(
    (each) => editable.get(each.name) ?? withSources(source, each, hosting),
  );
  return fieldsFor(source, { ...field, kind: { kind: 'struct', fields } });
}

function withSources(source: string, field: Field, hosting: Hosting | null): Field {
  if (field.name !== 'source') return field;
  const choices = source === 'git_host' ? ['git_host'] : imageSources(hosting);
  return { ...field, kind: { kind: 'choice', choices } };
}

/** The last part of the name of a repository. */
const shortName = (fullName: string) => fullName.split('/').at(-1) ?? fullName;

/** The document with the fields of a repository. A name that was typed stays. */
export function withRepository(
  document: JsonObject,
  integrationId: string,
  { full_name: fullName, repo_url: url, default_branch: branch }: Repository,
): JsonObject {
  const named = document['name'] === '' ? { ...document, name: shortName(fullName) } : document;
  const fields: readonly (readonly [readonly string[], string | undefined])[] = [
    [['source_config', 'integration_id'], integrationId],
    [['source_config', 'repo_url'], url],
    [['source_revision_config', 'repo_ref'], branch ?? undefined],
  ];
  return fields.reduce((each, [path, value]) => withValueAt(each, path, value), named);
}

const OF_IMAGES = [['name'], ['source'], ['source_revision_config', 'image_uri']] as const;
const OF_REPOSITORIES = [
  ['name'],
  ['source_config', 'repo_url'],
  ['source_revision_config', 'repo_ref'],
  ['source_config', 'integration_id'],
  ['source_config', 'build_on_push'],
] as const;

/** The fields that each new deployment needs. */
export const createLead = (source: string): readonly (readonly string[])[] =>
  source === 'git_host' ? OF_REPOSITORIES : OF_IMAGES;

/** The source that the form is for. */
export const sourceOf = (document: JsonObject | null, kind: Kind): string => {
  const source = document?.['source'];
  return typeof source === 'string' ? source : kind === 'repository' ? 'git_host' : 'external_image';
};

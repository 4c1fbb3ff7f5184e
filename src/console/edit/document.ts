import type { Deployment } from '../api/types.ts';
import { MASK } from '../change/masked.ts';
import { isObject, type Json, type JsonObject, sameJson } from '../form/json.ts';
import { bodyField, type Field, memberOf } from '../form/schema.ts';

/** What a person edits: the desired state of a deployment, in the form of a request. Nothing in it is null. */
export type EditDocument = JsonObject;

/** Fields that the server sets, which a request cannot change. */
const OF_SERVER: ReadonlySet<string> = new Set(['repo_commit_sha']);

/** A schema without the fields that the server sets. */
function editable(field: Field): Field {
  if (field.kind.kind !== 'struct') return field;
  const fields = field.kind.fields.filter(({ name }) => !OF_SERVER.has(name)).map(editable);
  return { ...field, kind: { kind: 'struct', fields } };
}

/** The fields of a change. */
export const changeField = (): Field => editable(bodyField('UpdateDeploymentInput'));

/** The value without members that are null, and without those that requests do not have. */
function requested(value: Json, field: Field | null): Json {
  if (Array.isArray(value)) {
    const item = field?.kind.kind === 'items' ? field.kind.item : null;
    return value.map((each) => requested(each, item));
  }
  if (!isObject(value)) return value;
  const isStruct = field?.kind.kind === 'struct';
  const members = Object.entries(value).flatMap(([name, each]): [string, Json][] => {
    const member = isStruct ? memberOf(field, name) : null;
    const isKnown = !isStruct || member !== null;
    return each === null || !isKnown ? [] : [[name, requested(each, member)]];
  });
  return Object.fromEntries(members);
}

/** What can be edited of a deployment. Values of secrets are masked. */
export function documentOf(deployment: Deployment): EditDocument {
  const { source_config, source_revision_config, secrets, secret_references = [] } = deployment;
  const masked = secrets.map(({ name }) => ({ name, value: MASK }));
  const whole = { source_config, source_revision_config, secrets: masked, secret_references };
  return requested(whole as unknown as JsonObject, changeField()) as EditDocument;
}

/**
 * Depth of the objects whose members a PATCH changes one by one: `source_config` is 1, and `source_config.resource_spec` is 2. Objects
 * below are replaced.
 */
const MERGED_DEPTH = 2;

/** A new value, with null for each member that is gone, so that it means the same whether the API merges or replaces it. */
function replaced(before: Json | undefined, after: Json, field: Field | null): Json {
  if (!isObject(before) || !isObject(after) || field?.kind.kind !== 'struct') return after;
  const gone = field.kind.fields.filter(
    ({ name, isNullable }) => isNullable && name in before && !(name in after),
  );
  return { ...after, ...Object.fromEntries(gone.map(({ name }) => [name, null])) };
}

function patchWithin(before: JsonObject, after: JsonObject, field: Field | null, depth: number): JsonObject {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((name) => !sameJson(before[name], after[name]));
  return Object.fromEntries(
    changed.map((name): [string, Json] => {
      const [old, next] = [before[name], after[name]];
      const member = field === null ? null : memberOf(field, name);
      if (next === undefined) return [name, null];
      if (isObject(old) && isObject(next) && depth < MERGED_DEPTH)
        return [name, patchWithin(old, next, member, depth + 1)];
      return [name, replaced(old, next, member)];
    }),
  );
}

/** The body of the PATCH that changes one document to another. Empty: they are equal. */
export const patchOf = (before: EditDocument, after: EditDocument): JsonObject =>
  patchWithin(before, after, changeField(), 0);

import { RENAMED_IN_SPEC, RENAMED_IN_STATUS, type RenamedField } from '../resource/former-names.ts';
import type { StructuralSchema } from './structural-schema.ts';

/**
 * Renamed fields in the schema of the custom resource. Without the former names, the API server would remove these fields
 * from stored resources when it reads them, and an operator of the previous version would not start (decision 0032).
 */

const RENAMED = [
  ...RENAMED_IN_SPEC.map((field) => ({ ...field, at: ['spec', ...field.at] })),
  ...RENAMED_IN_STATUS.map((field) => ({ ...field, at: ['status', ...field.at] })),
];

function holderOf(schema: StructuralSchema, { at }: RenamedField): StructuralSchema {
  const found = at.reduce<StructuralSchema | undefined>(
    (holder, step) => (step === 'items' ? holder?.items : holder?.properties?.[step]),
    schema,
  );
  if (found?.properties === undefined)
    throw new Error(`failed to create the CRD: no fields at ${at.join('.')}`);
  return found;
}

/**
 * Resources that the previous version stored lack the current names, so these are neither required nor have a default. The
 * API server would add a default to a stored resource when it reads the resource.
 */
export function relaxRenamedFields(schema: StructuralSchema): void {
  for (const field of RENAMED) {
    const holder = holderOf(schema, field);
    const { required } = holder as { required?: string[] };
    const others = required?.filter((name) => name !== field.current) ?? [];
    if (others.length > 0) holder.required = others;
    else delete holder.required;
    delete holder.properties?.[field.current]?.default;
  }
}

/** Adds the former names, inner fields first, so that a renamed object contains them too. */
export function addFormerNames(schema: StructuralSchema): void {
  for (const field of RENAMED.toReversed()) {
    const { properties = {} } = holderOf(schema, field);
    const { format: _, ...definition } = structuredClone(properties[field.current] ?? {});
    const description = `Deprecated: the name of ${field.current} in the previous version.`;
    properties[field.former] = { ...definition, description };
  }
}

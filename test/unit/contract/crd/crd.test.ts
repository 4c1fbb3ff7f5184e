import { describe, expect, it } from 'vitest';
import { crdYaml, DEFINITIONS, revisionOf, storedCrdYaml, storedRevision } from '../../../../scripts/crds.ts';
import { customResourceDefinition } from '../../../../src/contract/crd/crd.ts';
import type { StructuralSchema } from '../../../../src/contract/crd/structural-schema.ts';
import { DEPLOYMENT_STATUSES } from '../../../../src/domain/revision/states.ts';

function walk(
  node: StructuralSchema,
  path: string,
  visit: (node: StructuralSchema, path: string) => void,
): void {
  visit(node, path);
  for (const [name, child] of Object.entries(node.properties ?? {})) walk(child, `${path}.${name}`, visit);
  if (node.items) walk(node.items, `${path}[]`, visit);
  if (node.additionalProperties) walk(node.additionalProperties, `${path}{}`, visit);
}

type Definition = (typeof DEFINITIONS)[number];

function pathsOf(
  definition: Definition,
  wanted: (node: StructuralSchema, path: string) => boolean,
): string[] {
  const schema = definition.object().spec.versions[0]?.schema.openAPIV3Schema as StructuralSchema;
  const found: string[] = [];
  walk(schema, '', (node, path) => {
    if (wanted(node, path)) found.push(path);
  });
  return found;
}

describe.each(DEFINITIONS)('the CRD in $file', (definition) => {
  it('matches the zod schemas (to update it, run npm run crds)', () => {
    expect(storedCrdYaml(definition)).toBe(crdYaml(definition));
  });

  it('has a revision number that increases with each change, so that clusters keep the newer CRD', () => {
    const stored = storedRevision(definition);
    const { spec } = definition.object();
    expect(revisionOf(spec, stored)).toEqual(stored);
    expect(storedCrdYaml(definition)).toContain(`\n    berth.dev/crd-revision: "${stored.number}"\n`);
    expect(revisionOf({ ...spec, scope: 'Cluster' }, stored).number).toBe(stored.number + 1);
  });

  it('describes every field of spec and status, for kubectl explain', () => {
    const undescribed = pathsOf(
      definition,
      (node, path) =>
        /^\.(spec|status)/.test(path) && node.description === undefined && !/(\[\]|\{\})$/.test(path),
    );
    expect(undescribed).toEqual([]);
  });

  it('bounds every list, map and text of spec, because CEL rules have a cost', () => {
    const unbounded = pathsOf(definition, (node, path) => {
      if (!path.startsWith('.spec')) return false;
      if (node.type === 'array') return node.maxItems === undefined;
      if (node.type === 'string') return node.maxLength === undefined && node.enum === undefined;
      return node.additionalProperties !== undefined && node.maxProperties === undefined;
    });
    expect(unbounded).toEqual([]);
  });
});

describe('the columns of kubectl get', () => {
  it('names every status of a deployment in its column', () => {
    const columns = customResourceDefinition().spec.versions[0]?.additionalPrinterColumns ?? [];
    const description = columns.find(({ name }) => name === 'Status')?.description ?? '';
    expect(DEPLOYMENT_STATUSES.filter((status) => !description.includes(status))).toEqual([]);
  });
});

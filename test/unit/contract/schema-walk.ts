import { z } from 'zod';
import { quantitySchema } from '../../../src/domain/kubernetes/quantity.ts';

/** Every leaf of a schema with its path; `[]` steps into a list, `*` into a map. */

interface Node {
  readonly type?: string;
  readonly quantity?: boolean;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
  readonly [keyword: string]: unknown;
}

export interface Leaf {
  readonly path: string;
  readonly schema: Node;
}

function walk(node: Node, path: string): Leaf[] {
  const below = [
    ...Object.entries(node.properties ?? {}).flatMap(([name, child]) =>
      walk(child, path === '' ? name : `${path}.${name}`),
    ),
    ...(typeof node.additionalProperties === 'object' ? walk(node.additionalProperties, `${path}.*`) : []),
    ...(node.items === undefined ? [] : walk(node.items, `${path}[]`)),
    ...(node.anyOf ?? []).flatMap((child) => walk(child, path)),
  ];
  return below.length > 0 ? below : [{ path, schema: node }];
}

/** Of a zod schema, fields of Kubernetes' own objects included. */
export function leavesOf(schema: z.ZodType): Leaf[] {
  const document = z.toJSONSchema(schema, {
    io: 'input',
    reused: 'inline',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema === quantitySchema) jsonSchema['quantity'] = true;
    },
  });
  // Of alternatives (a value or null) the one that says most.
  const all = walk(document as Node, '').filter(({ schema }) => schema.type !== 'null');
  const found = new Map(all.map((leaf) => [leaf.path, leaf]));
  for (const leaf of all) if (leaf.schema.quantity) found.set(leaf.path, leaf);
  return [...found.values()];
}

/** Of a structural schema of a custom resource. */
export const structuralLeavesOf = (schema: object): Leaf[] => walk(schema as Node, '');

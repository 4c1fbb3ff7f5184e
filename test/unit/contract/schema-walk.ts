import { z } from 'zod';
import { quantitySchema } from '../../../src/domain/kubernetes/quantity.ts';

/** Every leaf of a schema with its path; `[]` steps into a list, `*` into a map. */

interface Node {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Node>>;
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

type Definitions = Readonly<Record<string, Node>>;

/** The node that a reference names: a schema with an id, as OpenAPI documents give it, is written once and referred to. */
function resolved(node: Node, definitions: Definitions): Node {
  if (node.$ref === undefined) return node;
  const target = definitions[node.$ref.replace('#/$defs/', '')];
  if (target === undefined) throw new Error(`the schema has no definition ${node.$ref}`);
  return resolved(target, definitions);
}

function walk(at: Node, path: string, definitions: Definitions): Leaf[] {
  const node = resolved(at, definitions);
  const below = [
    ...Object.entries(node.properties ?? {}).flatMap(([name, child]) =>
      walk(child, path === '' ? name : `${path}.${name}`, definitions),
    ),
    ...(typeof node.additionalProperties === 'object'
      ? walk(node.additionalProperties, `${path}.*`, definitions)
      : []),
    ...(node.items === undefined ? [] : walk(node.items, `${path}[]`, definitions)),
    ...(node.anyOf ?? []).flatMap((child) => walk(child, path, definitions)),
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
  const all = walk(document as Node, '', (document as Node).$defs ?? {}).filter(
    ({ schema }) => schema.type !== 'null',
  );
  const found = new Map(all.map((leaf) => [leaf.path, leaf]));
  for (const leaf of all) if (leaf.schema.quantity) found.set(leaf.path, leaf);
  return [...found.values()];
}

/** Of a structural schema of a custom resource. */
export const structuralLeavesOf = (schema: object): Leaf[] => walk(schema as Node, '', {});

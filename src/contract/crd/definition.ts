import type { z } from 'zod';
import { type StructuralSchema, toStructuralSchema, type ValidationRule } from './structural-schema.ts';

/** What all CustomResourceDefinitions of Berth share. */

/** A hard upper limit. For stricter policies, see docs/decisions/0044-policy-for-custom-resources.md. */
export function atMost(most: string): ValidationRule {
  return {
    rule: `!isQuantity(self) || quantity(self).compareTo(quantity('${most}')) <= 0`,
    message: `must be at most ${most}`,
  };
}

/** Rejects a limit of 0, as in domain/kubernetes/limits.ts, because a kubelet reads it as no limit. */
export const MORE_THAN_ZERO: ValidationRule = {
  rule: "!isQuantity(self) || quantity(self).isGreaterThan(quantity('0'))",
  message: 'must be more than 0: Kubernetes reads 0 as no limit',
};

/** The schema at a path of fields, in which `items` means each item. @throws Error if it does not exist */
export function at(schema: StructuralSchema, path: string): StructuralSchema {
  let found: StructuralSchema | undefined = schema;
  for (const step of path === '' ? [] : path.split('.')) {
    found = step === 'items' ? found?.items : found?.properties?.[step];
  }
  if (found === undefined) throw new Error(`failed to create the CRD: its schema has no ${path}`);
  return found;
}

/** The schema of a kind with `spec` and `status`. */
export function objectSchema({
  description,
  spec,
  status,
}: {
  readonly description: string;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
}): StructuralSchema {
  return {
    description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: toStructuralSchema(spec),
      status: toStructuralSchema(status),
    },
  };
}

/** Adds CEL rules at their paths. */
export function addRules(
  schema: StructuralSchema,
  rulesByPath: Readonly<Record<string, readonly ValidationRule[]>>,
): void {
  for (const [path, rules] of Object.entries(rulesByPath)) {
    const target = at(schema, path);
    target['x-kubernetes-validations'] = [...(target['x-kubernetes-validations'] ?? []), ...rules];
  }
}

interface Names {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortName: string;
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly description?: string;
  readonly priority?: number;
}

/** A CustomResourceDefinition of Berth with one version. */
export function definitionOf(
  { group, version, kind, plural, singular, shortName }: Names,
  columns: readonly Column[],
  schema: StructuralSchema,
) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular,
        shortNames: [shortName],
        categories: ['all', 'berth'],
      },
      scope: 'Namespaced',
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns,
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  };
}

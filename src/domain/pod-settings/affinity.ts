import { z } from 'zod';
import { labelsSchema } from '../kubernetes/metadata.ts';
import { dnsLabelSchema, isLabelValue, isQualifiedName } from '../kubernetes/names.ts';
import { byteLength } from '../kubernetes/text.ts';

/** Affinity of pods, as in Kubernetes. Source: ValidateAffinity of the API server, Kubernetes 1.36. */

/** Maximum size as JSON. */
const MAX_BYTES = 16 * 1024;
const MAX_TERMS = 16;
const MAX_REQUIREMENTS = 32;
const MAX_VALUES = 64;
const MAX_KEY_LENGTH = 317;

type Operator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
interface Requirement {
  readonly operator: Operator;
  readonly values?: readonly string[] | undefined;
}

/** Why the values do not fit the operator. null: they do. */
function valuesProblem({ operator, values = [] }: Requirement): string | null {
  if (operator === 'Exists' || operator === 'DoesNotExist')
    return values.length === 0 ? null : `must not be set for the operator ${operator}`;
  if (operator === 'Gt' || operator === 'Lt') {
    const isNumber = values.length === 1 && /^-?\d{1,18}$/.test(values[0] ?? '');
    return isNumber ? null : `must be one integer for the operator ${operator}`;
  }
  return values.length > 0 ? null : `must not be empty for the operator ${operator}`;
}

const labelKey = () =>
  z.string().max(MAX_KEY_LENGTH).refine(isQualifiedName, "must be the key of a label: '[prefix/]name'");

const labelValues = () =>
  z
    .array(z.string().refine(isLabelValue, 'must be the value of a label'))
    .max(MAX_VALUES)
    .optional()
    .describe('Values for In and NotIn, one integer for Gt and Lt.');

function requirements<O extends Operator>(operators: readonly [O, ...O[]], description: string) {
  const requirement = z
    .strictObject({
      key: labelKey().describe('Key of the label.'),
      operator: z.enum(operators).describe('How the label is compared.'),
      values: labelValues(),
    })
    .superRefine((each, ctx) => {
      const message = valuesProblem(each as Requirement);
      if (message !== null) ctx.addIssue({ code: 'custom', path: ['values'], message });
    });
  return z.array(requirement).max(MAX_REQUIREMENTS).optional().describe(description);
}

const nodeTermSchema = z.strictObject({
  matchExpressions: requirements(
    ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'],
    'Requirements on labels of the node.',
  ),
  matchFields: z
    .array(
      z.strictObject({
        key: z.literal('metadata.name').describe('The only field of a node that can be matched.'),
        operator: z.enum(['In', 'NotIn']).describe('Whether the node must have the name.'),
        values: z.array(z.string().min(1).max(253)).length(1).describe('Name of the node.'),
      }),
    )
    .max(MAX_REQUIREMENTS)
    .optional()
    .describe('Requirements on the name of the node.'),
});

const weight = () => z.int().min(1).max(100).describe('Weight among the preferences.');

const nodeAffinitySchema = z.strictObject({
  requiredDuringSchedulingIgnoredDuringExecution: z
    .strictObject({
      nodeSelectorTerms: z
        .array(nodeTermSchema)
        .min(1)
        .max(MAX_TERMS)
        .describe('Terms, of which a node must meet at least one.'),
    })
    .optional()
    .describe('Nodes that the pods may run on.'),
  preferredDuringSchedulingIgnoredDuringExecution: z
    .array(
      z.strictObject({
        weight: weight(),
        preference: nodeTermSchema.describe('Term that a node should meet.'),
      }),
    )
    .max(MAX_TERMS)
    .optional()
    .describe('Nodes that are preferred.'),
});

const selector = (description: string) =>
  z
    .strictObject({
      matchLabels: labelsSchema.optional().describe('Labels with their values.'),
      matchExpressions: requirements(['In', 'NotIn', 'Exists', 'DoesNotExist'], 'Requirements on labels.'),
    })
    .optional()
    .describe(description);

const keys = (description: string) =>
  z.array(labelKey()).max(MAX_REQUIREMENTS).optional().describe(description);

const podTermFields = z.strictObject({
  labelSelector: selector('Pods that the term is about.'),
  topologyKey: labelKey().describe(
    'Label of nodes whose value defines one place, such as kubernetes.io/hostname.',
  ),
  namespaces: z.array(dnsLabelSchema).max(MAX_VALUES).optional().describe('Namespaces of these pods.'),
  namespaceSelector: selector('Namespaces of these pods, by label.'),
  matchLabelKeys: keys('Labels whose value must be that of the new pod.'),
  mismatchLabelKeys: keys('Labels whose value must differ from that of the new pod.'),
});

type PodTerm = z.infer<typeof podTermFields>;

/** The keys that a selector restricts. */
const keysOf = ({ matchLabels = {}, matchExpressions = [] }: NonNullable<PodTerm['labelSelector']>) =>
  new Set([...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)]);

/**
 * Rules of Kubernetes about label keys. The API server adds matchLabelKeys to the selector of each new pod, so it rejects
 * pods with a key that is then there twice, although it accepts their Deployment.
 */
function checkLabelKeys(term: PodTerm, ctx: Pick<z.core.$RefinementCtx, 'addIssue'>): void {
  const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = term;
  const reject = (path: (string | number)[], message: string) =>
    ctx.addIssue({ code: 'custom', path, message });
  if (labelSelector === undefined) {
    for (const field of LABEL_KEY_FIELDS)
      if ((term[field] ?? []).length > 0) reject([field], 'must not be set without labelSelector');
    return;
  }
  const selected = keysOf(labelSelector);
  for (const [index, key] of matchLabelKeys.entries()) {
    if (mismatchLabelKeys.includes(key))
      reject(['matchLabelKeys', index], 'must not be in mismatchLabelKeys too');
    else if (selected.has(key)) reject(['matchLabelKeys', index], 'must not be a key of labelSelector too');
    else if (matchLabelKeys.indexOf(key) < index)
      reject(['matchLabelKeys', index], 'must not be listed twice');
  }
}

const LABEL_KEY_FIELDS = ['matchLabelKeys', 'mismatchLabelKeys'] as const;

const podTermSchema = podTermFields.superRefine(checkLabelKeys);

const podRulesSchema = z.strictObject({
  requiredDuringSchedulingIgnoredDuringExecution: z
    .array(podTermSchema)
    .max(MAX_TERMS)
    .optional()
    .describe('Rules that must be met.'),
  preferredDuringSchedulingIgnoredDuringExecution: z
    .array(z.strictObject({ weight: weight(), podAffinityTerm: podTermSchema.describe('Rule.') }))
    .max(MAX_TERMS)
    .optional()
    .describe('Rules that should be met.'),
});

export const affinitySchema = z
  .strictObject({
    nodeAffinity: nodeAffinitySchema.optional().describe('Nodes that the pods may run on, or should run on.'),
    podAffinity: podRulesSchema.optional().describe('Pods near which the pods run.'),
    podAntiAffinity: podRulesSchema.optional().describe('Pods away from which the pods run.'),
  })
  .refine((affinity) => byteLength(JSON.stringify(affinity)) <= MAX_BYTES, {
    message: `must not be larger than ${MAX_BYTES} bytes as JSON`,
  })
  .meta({ freeForm: true })
  .describe('Affinity of the pods, as in Kubernetes.');
export type Affinity = z.infer<typeof affinitySchema>;

/** A key of a node that an affinity selects, and its path below the affinity. */
interface NodeKey {
  readonly key: string;
  readonly loc: readonly (string | number)[];
}

/** The labels and fields of nodes that an affinity selects. */
export function nodeKeys({ nodeAffinity }: Affinity): NodeKey[] {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  const terms = [
    ...(nodeAffinity?.[required]?.nodeSelectorTerms ?? []).map((term, index) => ({
      term,
      at: ['nodeAffinity', required, 'nodeSelectorTerms', index],
    })),
    ...(nodeAffinity?.[preferred] ?? []).map(({ preference }, index) => ({
      term: preference,
      at: ['nodeAffinity', preferred, index, 'preference'],
    })),
  ];
  return terms.flatMap(({ term, at }) =>
    (['matchExpressions', 'matchFields'] as const).flatMap((list) =>
      (term[list] ?? []).map(({ key }, index) => ({ key, loc: [...at, list, index, 'key'] })),
    ),
  );
}

/** The paths of fields that Kubernetes supports since 1.31, below the affinity. Older versions silently drop them. */
export function labelKeyFields(affinity: Affinity): (string | number)[][] {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  const terms = (['podAffinity', 'podAntiAffinity'] as const).flatMap((kind) => [
    ...(affinity[kind]?.[required] ?? []).map((term, index) => ({ term, at: [kind, required, index] })),
    ...(affinity[kind]?.[preferred] ?? []).map(({ podAffinityTerm: term }, index) => ({
      term,
      at: [kind, preferred, index, 'podAffinityTerm'],
    })),
  ]);
  return terms.flatMap(({ term, at }) =>
    LABEL_KEY_FIELDS.filter((field) => (term[field] ?? []).length > 0).map((field) => [...at, field]),
  );
}

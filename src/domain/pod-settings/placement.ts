import { z } from 'zod';
import { labelsSchema } from '../kubernetes/metadata.ts';
import { affinitySchema } from './affinity.ts';
import { tolerationSchema } from './toleration.ts';

/** Hard limits. */
export const PLACEMENT_LIMITS = { selectorKeys: 32, tolerations: 32 } as const;

export const placementSchema = z
  .strictObject({
    node_selector: labelsSchema
      .refine((labels) => Object.keys(labels).length <= PLACEMENT_LIMITS.selectorKeys, {
        message: `must not have more than ${PLACEMENT_LIMITS.selectorKeys} entries`,
      })
      .optional()
      .describe('Labels that a node must have.'),
    tolerations: z
      .array(tolerationSchema)
      .max(PLACEMENT_LIMITS.tolerations)
      .optional()
      .describe('Taints that the pods tolerate.'),
    affinity: affinitySchema.optional(),
  })
  .describe('Nodes on which the pods of one component run.')
  .meta({ examples: [{ node_selector: { 'kubernetes.io/arch': 'arm64' } }] });
export type Placement = z.infer<typeof placementSchema>;

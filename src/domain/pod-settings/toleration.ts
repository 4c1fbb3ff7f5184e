import { z } from 'zod';
import { isLabelValue, isQualifiedName, MAX_LABEL_LENGTH } from '../kubernetes/names.ts';

/** Tolerations of pods, as in Kubernetes. Source: ValidateTolerations of the API server. */

const MAX_SECONDS = 2 ** 31 - 1;

export const tolerationSchema = z
  .strictObject({
    key: z
      .string()
      .max(317)
      .refine(isQualifiedName, "must be the key of a taint: '[prefix/]name'")
      .optional()
      .describe('Key of the taint. Absent: every taint, with the operator Exists.'),
    operator: z
      .enum(['Equal', 'Exists'])
      .optional()
      .describe('Equal: the taint has this value. Exists: any value. Default: Equal.'),
    value: z
      .string()
      .max(MAX_LABEL_LENGTH)
      .refine(isLabelValue, 'must be the value of a taint')
      .optional()
      .describe('Value of the taint, for Equal. Default: the empty value.'),
    effect: z
      .enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
      .optional()
      .describe('Effect of the taint. Absent: every effect.'),
    tolerationSeconds: z
      .int()
      .min(0)
      .max(MAX_SECONDS)
      .optional()
      .describe('Seconds after which the pod leaves a node with this taint, for NoExecute. Absent: never.'),
  })
  .superRefine(({ key, operator, value, effect, tolerationSeconds }, ctx) => {
    const reject = (field: string, message: string) =>
      ctx.addIssue({ code: 'custom', path: [field], message });
    if (operator === 'Exists' && value) reject('value', 'must not be set for the operator Exists');
    if (key === undefined && operator !== 'Exists') reject('operator', 'must be Exists if there is no key');
    if (tolerationSeconds !== undefined && effect !== 'NoExecute')
      reject('tolerationSeconds', 'must not be set unless the effect is NoExecute');
  })
  .describe('A taint of nodes that the pods tolerate, as in Kubernetes.');
export type Toleration = z.infer<typeof tolerationSchema>;

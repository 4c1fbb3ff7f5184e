import { z } from 'zod';
import { isExtendedResource, MAX_RESOURCE_NAME } from '../kubernetes/resources.ts';

/** Maximum number of devices of one pod. */
export const MAX_GPUS = 64;

export const gpuSchema = z
  .strictObject({
    resource: z
      .string()
      .max(MAX_RESOURCE_NAME)
      .refine(isExtendedResource, 'must be an extended resource, such as nvidia.com/gpu')
      .describe('Extended resource that the device plugin of the cluster offers, such as nvidia.com/gpu.'),
    count: z.int().min(1).max(MAX_GPUS).describe('Number of devices of each pod.'),
  })
  .describe('GPUs of the app container of one component.')
  .meta({ examples: [{ resource: 'nvidia.com/gpu', count: 1 }] });
export type Gpu = z.infer<typeof gpuSchema>;

import { z } from 'zod';
import { MAX_RESOURCE_NAME } from '../../domain/kubernetes/resources.ts';
import { affinitySchema } from '../../domain/pod-settings/affinity.ts';
import { MAX_GPUS } from '../../domain/pod-settings/gpu.ts';
import {
  HEALTH_CHECK_LIMITS,
  HEALTH_CHECK_TYPES,
  HEALTH_PATH,
} from '../../domain/pod-settings/health-check.ts';
import { PLACEMENT_LIMITS } from '../../domain/pod-settings/placement.ts';
import { tolerationSchema } from '../../domain/pod-settings/toleration.ts';
import { COMPONENTS } from '../../domain/resource-spec/components.ts';

/**
 * The optional settings of a component in the custom resource. The schemas state types and bounds. The operator checks the
 * rest with the schemas and the policy of the API, so that a wrong value is named in the status.
 */

const healthCheckSchema = z
  .strictObject({
    type: z.enum(HEALTH_CHECK_TYPES).describe('http, tcp, exec, or none for no check.'),
    path: z.string().max(HEALTH_CHECK_LIMITS.path).regex(HEALTH_PATH).optional().describe('Path, for http.'),
    port: z
      .int()
      .min(1)
      .max(65_535)
      .optional()
      .describe('Port, for http and tcp. Absent: the port of the app.'),
    command: z
      .array(z.string().max(HEALTH_CHECK_LIMITS.argument))
      .min(1)
      .max(HEALTH_CHECK_LIMITS.arguments)
      .optional()
      .describe('Program and arguments, for exec.'),
    timeoutSeconds: z
      .int()
      .min(1)
      .max(HEALTH_CHECK_LIMITS.timeoutSeconds)
      .optional()
      .describe('Seconds after which a check without an answer has failed. Absent: 5.'),
    periodSeconds: z
      .int()
      .min(1)
      .max(HEALTH_CHECK_LIMITS.periodSeconds)
      .optional()
      .describe('Seconds between two checks. Absent: 5.'),
    failureThreshold: z
      .int()
      .min(1)
      .max(HEALTH_CHECK_LIMITS.failureThreshold)
      .optional()
      .describe(
        'Failed checks in a row after which the pod gets no requests. After four times that time, the container is restarted. Absent: 3.',
      ),
    startupSeconds: z
      .int()
      .min(1)
      .max(HEALTH_CHECK_LIMITS.startupSeconds)
      .optional()
      .describe('Seconds that the container has for its start. Absent: the deadline of a rollout.'),
  })
  .describe('Health check of the app container. Absent: the check of the platform for api, none for others.')
  .meta({ examples: [{ type: 'http', path: '/healthz' }] });
export type HealthCheckSpec = z.infer<typeof healthCheckSchema>;

const placementSchema = z
  .strictObject({
    nodeSelector: z
      .record(z.string(), z.string().max(63))
      .meta({ freeForm: true })
      .optional()
      .describe('Labels that a node must have.'),
    tolerations: z
      .array(z.strictObject(tolerationSchema.shape))
      .max(PLACEMENT_LIMITS.tolerations)
      .optional()
      .describe('Taints that the pods tolerate.'),
    affinity: affinitySchema.optional(),
  })
  .describe('Nodes on which the pods of the component run.')
  .meta({ examples: [{ nodeSelector: { 'kubernetes.io/arch': 'arm64' } }] });
export type PlacementSpec = z.infer<typeof placementSchema>;

const gpuSchema = z
  .strictObject({
    resource: z.string().max(MAX_RESOURCE_NAME).describe('Extended resource, such as nvidia.com/gpu.'),
    count: z.int().min(1).max(MAX_GPUS).describe('Number of devices of each pod.'),
  })
  .describe('GPUs of the app container.')
  .meta({ examples: [{ resource: 'nvidia.com/gpu', count: 1 }] });
export type GpuSpec = z.infer<typeof gpuSchema>;

/** The optional settings of one component. */
export const componentSettingsShape = {
  healthCheck: healthCheckSchema.optional(),
  placement: placementSchema.optional(),
  gpu: gpuSchema.optional(),
};
const componentSettingsSchema = z.object(componentSettingsShape);
export type ComponentSettings = z.infer<typeof componentSettingsSchema>;

/** The settings of components as stored templates record them. */
export const settingsOfComponentsSchema = z.partialRecord(z.enum(COMPONENTS), componentSettingsSchema);
/** The settings of each component that has any. */
export type SettingsOfComponents = z.infer<typeof settingsOfComponentsSchema>;

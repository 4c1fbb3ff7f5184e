import { z } from 'zod';
import { sourceSchema } from '../../domain/deployment/source.ts';
import { uploadDigestSchema } from '../../domain/uploads/upload.ts';
import { buildSpecSchema } from './build.ts';
import {
  cacheSchema,
  componentSchema,
  databaseSchema,
  imageString,
  podTemplateSchema,
  routingSchema,
  timeString,
  tracingSchema,
} from './managed-deployment-parts.ts';
import { schedulesSpecSchema } from './schedule-spec.ts';

const revisionSchema = z
  .strictObject({
    id: z
      .string()
      .max(64)
      .optional()
      .describe('Id of the revision in the hub. Absent on resources applied by hand.'),
    number: z
      .int()
      .min(1)
      .default(1)
      .describe('1, 2, 3 …. Part of the names of the stored templates and the env Secret.'),
    image: imageString.optional(),
    uploadDigest: uploadDigestSchema
      .optional()
      .describe('Digest of the uploaded folder from which the image is or was built.'),
    envSecretName: z
      .string()
      .max(253)
      .optional()
      .describe('Secret of the same namespace whose keys become environment variables of the app container.'),
  })
  .describe('The desired revision.');

/** The field is written only if it applies, so that other resources are not rewritten. */
const failedSchema = z
  .strictObject({
    reason: z.string().max(64).describe('Reason, as one word.'),
    message: z.string().max(4096).describe('Message with the details.'),
    activeRevision: z
      .strictObject({
        id: z.string().max(64).describe('Id of the revision.'),
        number: z.int().min(1).describe('Number of the revision.'),
      })
      .optional()
      .describe('The last active revision, which runs instead.'),
    observedRecordGeneration: z
      .int()
      .min(0)
      .optional()
      .describe(
        'The last generation of the record that was observed in effect. Present only if no status contains this generation.',
      ),
  })
  .describe(
    'The hub knows that the desired revision failed. This field is used if no status contains the failure, for example after the resource was lost.',
  );

/** Like `failed`, the field is written only if it applies. */
const deletionSchema = z
  .strictObject({
    requestTime: timeString.describe('When the deletion was requested.'),
    restorableUntilTime: timeString.describe(
      'End of the grace period. Until then, everything except pods and route is kept, and the hub can cancel the deletion. After that, this resource is deleted with all of its data.',
    ),
  })
  .describe('Set while the deployment is being deleted.');

/** `spec` of a ManagedDeployment: the desired state. The listener writes the desired state, or a user without a hub. */
export const managedDeploymentSpecSchema = z
  .strictObject({
    deploymentId: z
      .string()
      .max(64)
      .optional()
      .describe(
        'Id of the deployment in the hub. Only one resource of a namespace can have a given deploymentId. Absent: labels use the uid of the resource.',
      ),
    tenantId: z.string().max(64).optional().describe("The hub's id of the owner."),
    displayName: z.string().max(128).optional().describe('Name of the deployment as its owner wrote it.'),
    recordGeneration: z
      .int()
      .min(0)
      .default(0)
      .describe(
        'Generation of the record in the hub, which is the desired state. The operator reports a generation when it is observed.',
      ),
    source: sourceSchema.default('external_image'),
    suspend: z.boolean().default(false).describe('True: no pods run, and the data is kept.'),
    deletion: deletionSchema.optional(),
    revision: revisionSchema,
    build: buildSpecSchema.optional(),
    failed: failedSchema.optional(),
    components: z
      .strictObject({
        api: componentSchema.prefault({}).describe('Serves HTTP. The api component always exists.'),
        queue: componentSchema.optional().describe('Processes queued tasks.'),
        orchestrator: componentSchema.optional().describe('Schedules work for executors.'),
        executor: componentSchema.optional().describe('Executes the work that the orchestrator schedules.'),
      })
      .default({ api: { scale: { min: 1, max: 1 } } })
      .describe('The Deployments to run, all from one image.'),
    database: databaseSchema.prefault({}),
    cache: cacheSchema.prefault({}),
    podTemplate: podTemplateSchema.prefault({}),
    routing: routingSchema.prefault({}),
    tracing: tracingSchema.prefault({}),
    schedules: schedulesSpecSchema.optional(),
  })
  .describe('Desired state.');
export type ManagedDeploymentSpec = z.infer<typeof managedDeploymentSpecSchema>;

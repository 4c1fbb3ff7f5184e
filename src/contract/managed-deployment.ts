import { z } from 'zod';
import { conditionSchema } from '../domain/conditions.ts';
import { culpritSchema } from '../domain/culprit.ts';
import { containerSchema } from '../domain/kubernetes/container.ts';
import { MAX_ANNOTATIONS_BYTES } from '../domain/kubernetes/metadata.ts';
import { quantitySchema } from '../domain/kubernetes/quantity.ts';
import { volumeMountSchema, volumeSchema } from '../domain/kubernetes/volume.ts';
import { TRACING_ENV_NAMES } from '../domain/reserved.ts';
import { sourceSchema } from '../domain/source.ts';

/** API coordinates of the custom resource: the one contract between control plane and data plane. */
export const MANAGED_DEPLOYMENT = {
  group: 'berth.dev',
  version: 'v1alpha1',
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ManagedDeployment',
  plural: 'manageddeployments',
  singular: 'manageddeployment',
  shortName: 'mdep',
} as const;

/** Longest metadata.name: the longest suffix (`-orchestrator`) still leaves a label value of at most 63 characters. */
export const MAX_APP_NAME = 49;

const imageString = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^\S+$/)
  .describe('Image reference that every app pod of this revision runs.');

const amounts = {
  cpu: quantitySchema.optional().describe('Cores: 500m, 2.'),
  memory: quantitySchema.optional().describe('Bytes: 512Mi, 2Gi.'),
};

const resourcesSchema = z
  .strictObject({
    requests: z.strictObject(amounts).optional().describe('What the scheduler reserves.'),
    limits: z.strictObject(amounts).optional().describe('Most that the container may use.'),
  })
  .describe('Requests and limits of the main container, as Kubernetes quantities.');

const scaleSchema = z
  .strictObject({
    min: z.int().min(0).max(1000).describe('Fewest pods. 0 below a positive max still runs one.'),
    max: z
      .int()
      .min(0)
      .max(1000)
      .describe('Most pods; above min the component is autoscaled; 0 switches it off.'),
  })
  .describe('How many pods.');

const componentSchema = z
  .strictObject({
    scale: scaleSchema.default({ min: 1, max: 1 }),
    resources: resourcesSchema.optional(),
  })
  .describe('One component.');

const revisionSchema = z
  .strictObject({
    id: z
      .string()
      .max(64)
      .optional()
      .describe("The hub's id of the revision; absent on resources without a record."),
    number: z.int().min(1).default(1).describe('1, 2, 3 …; names the stored templates and the env Secret.'),
    image: imageString.optional(),
    envSecretName: z
      .string()
      .max(253)
      .optional()
      .describe('Secret of the same namespace whose keys become environment variables of the app container.'),
  })
  .describe('The revision that is wanted.');

/** Told only where it holds, so that a resource is written again for nothing else. */
const failedSchema = z
  .strictObject({
    reason: z.string().max(64).describe('Why, as one word.'),
    message: z.string().max(4096).describe('Why, as a sentence.'),
    activeRevision: z
      .strictObject({
        id: z.string().max(64).describe('Id of the revision.'),
        number: z.int().min(1).describe('Number of the revision.'),
      })
      .optional()
      .describe('The revision that is to serve instead: the one that was active last.'),
    observedGeneration: z
      .int()
      .min(0)
      .optional()
      .describe("The hub's generation that was last seen in effect: no status tells of it."),
  })
  .describe(
    'The hub knows that the wanted revision has failed. Read where no status tells of it, as on a resource that was lost.',
  );

const databaseSchema = z
  .strictObject({
    external: z
      .boolean()
      .default(false)
      .describe('True: the env Secret holds DATABASE_URI_CUSTOM and no database is run.'),
    resources: resourcesSchema.optional(),
    storage: quantitySchema.default('10Gi').describe('Size of the volume; may grow, never shrink.'),
    maxConnections: z.int().min(1).max(100_000).default(100).describe("PostgreSQL's max_connections."),
    poolSize: z.int().min(1).max(10_000).default(5).describe('DATABASE_POOL_SIZE of each pod.'),
    image: imageString
      .optional()
      .describe(
        "Image for a new database; absent: the operator's default. Recorded at creation, never changed later.",
      ),
    volumePolicy: z
      .enum(['Retain', 'Delete'])
      .default('Retain')
      .describe('What happens to volume and credentials when this resource is deleted.'),
  })
  .describe('The PostgreSQL database of the deployment.');

const cacheSchema = z
  .strictObject({
    external: z
      .boolean()
      .default(false)
      .describe('True: the env Secret holds CACHE_URI_CUSTOM and no cache is run.'),
    resources: resourcesSchema.optional(),
    maxMemoryMb: z.int().min(1).default(512).describe('Memory for data, in MiB.'),
  })
  .describe('The Valkey/Redis cache of the deployment.');

const podTemplateSchema = z
  .strictObject({
    labels: z
      .record(z.string(), z.string().max(63))
      .meta({ freeForm: true })
      .optional()
      .describe('Labels for app pods and their Deployments.'),
    annotations: z
      .record(z.string(), z.string().max(MAX_ANNOTATIONS_BYTES))
      .meta({ freeForm: true })
      .optional()
      .describe('Annotations for app pods and their Deployments.'),
    serviceAccountName: z
      .string()
      .max(253)
      .optional()
      .describe('ServiceAccount of the app pods; absent: one of their own.'),
    imagePullSecrets: z
      .array(z.strictObject({ name: z.string().max(253).describe('Name of the Secret.') }))
      .max(20)
      .optional()
      .describe('Secrets to pull the images with.'),
    volumes: z.array(volumeSchema).max(64).optional().describe('Volumes of the app pods.'),
    volumeMounts: z.array(volumeMountSchema).max(128).optional().describe('Mounts of the app container.'),
    initContainers: z.array(containerSchema).max(20).optional().describe('Init containers, in order.'),
    sidecars: z.array(containerSchema).max(20).optional().describe('Containers beside the app container.'),
  })
  .describe('What the app pods of all components have in common.');

const routingSchema = z
  .strictObject({
    url: z.string().max(2048).optional().describe('https URL under which the api component is reachable.'),
  })
  .describe('The way in from outside.');

const tracingSchema = z
  .strictObject({
    project: z.string().max(128).optional().describe('Tracing project that the pods report to.'),
    ownVariables: z
      .array(z.enum(TRACING_ENV_NAMES))
      .max(TRACING_ENV_NAMES.length)
      .optional()
      .describe(
        'OpenTelemetry variables that the env Secret holds: these win over the ones of the platform.',
      ),
  })
  .describe('Tracing.');

/** `spec` of a ManagedDeployment: what is wanted. Written by the listener, or by hand where there is no record. */
export const managedDeploymentSpecSchema = z
  .strictObject({
    deploymentId: z
      .string()
      .max(64)
      .optional()
      .describe("The hub's id of the deployment; absent: the resource's uid is used in labels."),
    tenantId: z.string().max(64).optional().describe("The hub's id of the owner."),
    displayName: z.string().max(128).optional().describe('Name of the deployment as its owner wrote it.'),
    generation: z
      .int()
      .min(0)
      .default(0)
      .describe("The hub's generation of what is wanted; reported back once seen."),
    source: sourceSchema.default('external_image'),
    suspend: z.boolean().default(false).describe('True: run nothing, keep the data.'),
    revision: revisionSchema,
    failed: failedSchema.optional(),
    components: z
      .strictObject({
        api: componentSchema.prefault({}).describe('Answers HTTP; always there.'),
        queue: componentSchema.optional().describe('Works off queued tasks.'),
        orchestrator: componentSchema.optional().describe('Plans work for executors.'),
        executor: componentSchema.optional().describe('Executes what the orchestrator plans.'),
      })
      .default({ api: { scale: { min: 1, max: 1 } } })
      .describe('The Deployments to run, all from one image.'),
    database: databaseSchema.prefault({}),
    cache: cacheSchema.prefault({}),
    podTemplate: podTemplateSchema.prefault({}),
    routing: routingSchema.prefault({}),
    tracing: tracingSchema.prefault({}),
  })
  .describe('What is wanted.');
export type ManagedDeploymentSpec = z.infer<typeof managedDeploymentSpecSchema>;

/** One component as last observed. Pod counts; terminating pods don't count. */
export const componentStatusSchema = z.strictObject({
  name: z.string().max(32).describe('api, queue, orchestrator or executor.'),
  wanted: z.int().describe('Pods wanted now.'),
  updated: z.int().describe('Pods of the current template.'),
  ready: z.int().describe('Ready pods.'),
  available: z.int().describe('Available pods.'),
});
export type ComponentStatus = z.infer<typeof componentStatusSchema>;

const statusRevision = {
  id: z.string().max(64).optional().describe('Id of the revision.'),
  number: z.int().describe('Number of the revision.'),
};

/** `status` of a ManagedDeployment: what was observed. Only the operator writes it. */
export const managedDeploymentStatusSchema = z
  .strictObject({
    observedGeneration: z.int().optional().describe('metadata.generation that this status speaks of.'),
    observedSpecGeneration: z
      .int()
      .optional()
      .describe(
        "spec.generation (the hub's) that is in effect: all that it wants is there, or nothing was active before.",
      ),
    status: z.string().max(32).optional().describe('One word: AWAITING_DATABASE, READY or UNUSED.'),
    suspended: z.boolean().optional().describe('True: nothing of it runs, seen so.'),
    conditions: z.array(conditionSchema).max(16).optional().describe('The state in detail.'),
    activeRevision: z
      .strictObject({
        ...statusRevision,
        templates: z.string().max(253).describe('ControllerRevision that holds its pod templates.'),
        image: z.string().max(1024).optional().describe('Image that it runs.'),
      })
      .optional()
      .describe('The revision that serves: moved only when every component was observed to run it.'),
    failedRevision: z
      .strictObject({
        ...statusRevision,
        reason: z.string().max(64).describe('Why, as one word.'),
        message: z.string().max(4096).describe('Why, as a sentence that names the culprit.'),
        culprit: culpritSchema.optional().describe('What made it fail, part by part.'),
        templates: z
          .string()
          .max(253)
          .optional()
          .describe('ControllerRevision that did not come up; nothing tries it again by itself.'),
        generation: z.int().optional().describe('spec.generation at which it failed.'),
      })
      .optional()
      .describe(
        'The last revision that failed, until a newer one is active; the active one, where a change in place failed.',
      ),
    rollout: z
      .strictObject({
        ...statusRevision,
        templates: z.string().max(253).describe('ControllerRevision that is being rolled out.'),
        startedAt: z.string().max(40).describe('When it began; the deadline counts from here.'),
      })
      .optional()
      .describe('The rollout under way.'),
    dataImages: z
      .strictObject({
        database: imageString.optional().describe('Image that the database runs.'),
        cache: imageString.optional().describe('Image that the cache runs.'),
      })
      .optional()
      .describe('Images of the data services, as chosen when they were made: a new default moves neither.'),
    components: z.array(componentStatusSchema).max(4).optional().describe('Pod counts of each component.'),
    url: z.string().max(2048).optional().describe('Where it answers, once the route exists.'),
  })
  .describe('What was observed.');
export type ManagedDeploymentStatus = z.infer<typeof managedDeploymentStatusSchema>;

/** Object metadata as far as Berth reads it. */
export interface ResourceMetadata {
  name: string;
  namespace: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  creationTimestamp?: string;
  deletionTimestamp?: string;
}

/** The custom resource, as read from the cluster (status may be absent) or built by the listener (no uid yet). */
export interface ManagedDeployment {
  apiVersion: typeof MANAGED_DEPLOYMENT.apiVersion;
  kind: typeof MANAGED_DEPLOYMENT.kind;
  metadata: ResourceMetadata;
  spec: ManagedDeploymentSpec;
  status?: ManagedDeploymentStatus;
}

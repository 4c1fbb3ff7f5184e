import { z } from 'zod';
import { MAX_DOMAIN_TOKEN } from '../../domain/app-hosts/challenge.ts';
import { MAX_DOMAIN_LENGTH, MAX_DOMAINS } from '../../domain/app-hosts/domains.ts';
import { TRACING_ENV_NAMES } from '../../domain/deployment/reserved.ts';
import { containerSchema } from '../../domain/kubernetes/container.ts';
import { MAX_ANNOTATIONS_BYTES } from '../../domain/kubernetes/metadata.ts';
import { quantitySchema } from '../../domain/kubernetes/quantity.ts';
import { volumeMountSchema, volumeSchema } from '../../domain/kubernetes/volume.ts';
import { routeUrlSchema } from '../../domain/net/https-url.ts';
import { SECURITY_PROFILES } from '../../domain/pod-settings/security-profile.ts';
import { EXPORTER_VARIABLE, MAX_EXPORTER_VARIABLES } from '../../domain/resource-spec/exporter-variables.ts';
import { RESOURCE_LIMITS } from '../../domain/resource-spec/resource-spec.ts';
import { componentSettingsShape } from './component-settings.ts';
import { runSettingsFields } from './run-settings-fields.ts';

/** A time in RFC 3339. The name of its field ends in `Time`. */
export const timeString = z.string().max(40).meta({ format: 'date-time' });

export const imageString = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^\S+$/)
  .describe('Image reference that every app pod of this revision runs.');

/** Amounts of resources. */
export const amountsSchema = z.strictObject({
  cpu: quantitySchema.optional().describe('Cores: 500m, 2.'),
  memory: quantitySchema.optional().describe('Amount of bytes, such as 512Mi or 2Gi.'),
});

/** Requests and limits of a container. */
export const resourcesSchema = z
  .strictObject({
    requests: amountsSchema.optional().describe('Requests.'),
    limits: amountsSchema.optional().describe('Limits.'),
  })
  .describe('Requests and limits of the main container, as Kubernetes quantities.');

const scaleSchema = z
  .strictObject({
    min: z
      .int()
      .min(0)
      .max(1000)
      .describe('Minimum number of pods. With 0 and a positive maximum, one pod runs.'),
    max: z
      .int()
      .min(0)
      .max(1000)
      .describe(
        'Maximum number of pods. Above min, the component is autoscaled. 0 switches the component off.',
      ),
  })
  .describe('Number of pods.');

export const componentSchema = z
  .strictObject({
    scale: scaleSchema.default({ min: 1, max: 1 }),
    resources: resourcesSchema.optional(),
    ...componentSettingsShape,
    byCommand: z
      .literal(true)
      .optional()
      .describe(
        'The component exists only because podTemplate.commands has its command, so only revisions with that command have it.',
      ),
  })
  .describe('One component.');

export const databaseSchema = z
  .strictObject({
    external: z
      .boolean()
      .default(false)
      .describe(
        'True: the env Secret or podTemplate.env contains DATABASE_URI_CUSTOM, and Berth runs no database.',
      ),
    enabled: z
      .boolean()
      .optional()
      .describe(
        'False: Berth runs no database and sets no DATABASE_URI, unless external is true. An existing volume is kept. Absent: true.',
      ),
    removeVolume: z
      .boolean()
      .optional()
      .describe(
        'True: the owner confirms in the hub that the volume of a database with enabled: false is deleted. The listener deletes it when no pod uses it. In a resource without deploymentId, this field has no effect: delete the claim.',
      ),
    resources: resourcesSchema.optional(),
    storage: quantitySchema
      .default('10Gi')
      .describe(
        'Size of the volume. The size can be raised. The size can also be lowered to the capacity of the volume. This cancels an expansion that was rejected or is not finished.',
      ),
    maxConnections: z.int().min(1).max(100_000).default(100).describe("PostgreSQL's max_connections."),
    poolSize: z.int().min(1).max(10_000).default(5).describe('DATABASE_POOL_SIZE of each pod.'),
    image: imageString
      .optional()
      .describe('Image for a new database. Absent: the default of the operator. Fixed at creation.'),
    volumePolicy: z
      .enum(['Retain', 'Delete'])
      .default('Retain')
      .describe(
        'Whether volume and credentials are kept or deleted with this resource. In a resource with a deploymentId, the policy has no effect: volume and credentials are retained until the hub deletes them.',
      ),
  })
  .describe('The PostgreSQL database of the deployment.');

export const cacheSchema = z
  .strictObject({
    external: z
      .boolean()
      .default(false)
      .describe(
        'True: the env Secret or podTemplate.env contains CACHE_URI_CUSTOM, and Berth runs no cache.',
      ),
    enabled: z
      .boolean()
      .optional()
      .describe('False: Berth runs no cache and sets no CACHE_URI, unless external is true. Absent: true.'),
    resources: resourcesSchema.optional(),
    maxMemoryMb: z.int().min(1).default(512).describe('Memory for data, in MiB.'),
  })
  .describe('The Valkey/Redis cache of the deployment.');

export const podTemplateSchema = z
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
      .describe('ServiceAccount of the app pods. Absent: Berth creates a ServiceAccount for these pods.'),
    imagePullSecrets: z
      .array(z.strictObject({ name: z.string().max(253).describe('Name of the Secret.') }))
      .max(RESOURCE_LIMITS.imagePullSecrets + 1)
      .optional()
      .describe(
        'Secrets with which the images are pulled: the requested Secrets, and the pull Secret of the platform.',
      ),
    volumes: z.array(volumeSchema).max(64).optional().describe('Volumes of the app pods.'),
    volumeMounts: z.array(volumeMountSchema).max(128).optional().describe('Mounts of the app container.'),
    initContainers: z.array(containerSchema).max(20).optional().describe('Init containers, in order.'),
    sidecars: z.array(containerSchema).max(20).optional().describe('Sidecar containers.'),
    securityProfile: z
      .enum(SECURITY_PROFILES)
      .optional()
      .describe(
        'restricted: all containers meet the Pod Security level restricted. baseline: containers keep the default capabilities of the container runtime. Absent: the level of the platform, with all capabilities dropped.',
      ),
    ...runSettingsFields,
  })
  .describe('Settings of the app pods of all components.');

/** DNS names of at least two labels. */
const DOMAIN = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+$/;

export const routingSchema = z
  .strictObject({
    url: routeUrlSchema.optional().describe('https URL under which the api component is reachable.'),
    domains: z
      .array(z.string().max(MAX_DOMAIN_LENGTH).regex(DOMAIN))
      .max(MAX_DOMAINS)
      .optional()
      .describe(
        'Additional hosts under which the api component is reachable, in lower case. status.domains shows DNS, certificate and route of each.',
      ),
    domainToken: z
      .string()
      .max(MAX_DOMAIN_TOKEN)
      .optional()
      .describe(
        'Text that the values of the TXT records of the hosts are derived from, together with the namespace. The hub sets it for each tenant.',
      ),
  })
  .describe('External access.');

export const tracingSchema = z
  .strictObject({
    project: z.string().max(128).optional().describe('Tracing project that the pods report to.'),
    ownVariables: z
      .array(z.enum(TRACING_ENV_NAMES))
      .max(TRACING_ENV_NAMES.length)
      .optional()
      .describe(
        'OpenTelemetry variables in the env Secret. These variables override the variables of the platform.',
      ),
    exporterVariables: z
      .array(z.string().max(253).regex(EXPORTER_VARIABLE))
      .max(MAX_EXPORTER_VARIABLES)
      .optional()
      .describe(
        'Other variables in the env Secret that set the target of telemetry: endpoints, proxies, certificates. If such variables are set, Berth does not send the headers of the platform to the endpoint of the tenant.',
      ),
  })
  .describe('Tracing.');

import { z } from 'zod';

/** The objects of a deployment in its cluster, as a listener reads them for a client of the API. */

/** Kinds whose objects are listed, in the order of the map. */
export const READ_KINDS = [
  'ManagedDeployment',
  'Deployment',
  'ReplicaSet',
  'StatefulSet',
  'Pod',
  'PersistentVolumeClaim',
  'Service',
  'Ingress',
  'HTTPRoute',
  'HorizontalPodAutoscaler',
  'PodDisruptionBudget',
  'ServiceAccount',
  'NetworkPolicy',
] as const;
export type ReadKind = (typeof READ_KINDS)[number];

/** Secrets are named by the pods that use them, and are never read. */
export const OBJECT_KINDS = [...READ_KINDS, 'Secret'] as const;

/**
 * State of an object.
 * - ready: the object does what it is for.
 * - progressing: it is on its way, and nothing has failed.
 * - failed: it does not work, and `message` says why.
 * - inactive: it is switched off, scaled to 0, or ended as intended.
 * - terminating: it is being deleted.
 * - unknown: its state is not known. Secrets are always unknown, because they are not read.
 */
export const OBJECT_STATES = [
  'ready',
  'progressing',
  'failed',
  'inactive',
  'terminating',
  'unknown',
] as const;
export type ObjectState = (typeof OBJECT_STATES)[number];

/** Maximum number of objects of a map, of containers of a pod, and of events of an object. */
export const MAX_OBJECTS = 1000;
const MAX_CONTAINERS = 64;
export const MAX_OBJECT_EVENTS = 100;
/** Maximum length of a message, and of a name. */
export const MAX_OBJECT_MESSAGE = 1024;
const MAX_NAME = 253;

const name = () => z.string().max(MAX_NAME);
const message = () => z.string().max(MAX_OBJECT_MESSAGE);
const time = () => z.iso.datetime({ offset: true }).max(40);

const timeSchema = time();
/** A time of the cluster in the form that messages contain; null: it has another form. */
export const clusterTime = (text: string | null | undefined): string | null =>
  timeSchema.safeParse(text).data ?? null;

const amountsSchema = z
  .object({
    cpu: z.number().optional().describe('Cores.'),
    memory_mb: z.number().optional().describe('Megabytes (2^20 bytes).'),
  })
  .meta({ id: 'ObjectAmounts', description: 'Amounts of a container. An absent amount is not set.' });

export const CONTAINER_STATES = ['waiting', 'running', 'terminated', 'unknown'] as const;

const objectContainerSchema = z
  .object({
    name: name().describe('Name of the container.'),
    init: z.boolean().describe('true: an init container.'),
    image: z.string().max(1024).describe('Image, as the pod names it.'),
    state: z.enum(CONTAINER_STATES).describe('State, as in Kubernetes. unknown: not reported yet.'),
    ready: z.boolean().describe('Whether the container passes its readiness check.'),
    reason: z.string().max(128).optional().describe('Reason of the state, as in Kubernetes. Absent: none.'),
    message: message().optional().describe('Message of the state. Absent: none.'),
    exit_code: z.int().optional().describe('Exit code of the last run. Absent: the container has not ended.'),
    restarts: z.int().describe('Number of restarts.'),
    started_at: time().optional().describe('Start of the current run. Absent: the container does not run.'),
    requests: amountsSchema.describe('Requested amounts.'),
    limits: amountsSchema.describe('Limits.'),
    usage: amountsSchema
      .optional()
      .describe('Measured by the metrics API of the cluster. Absent: `metrics` of the map says why.'),
  })
  .meta({ id: 'ObjectContainer', description: 'A container of a pod.' });
export type ObjectContainer = z.infer<typeof objectContainerSchema>;

const objectPodSchema = z
  .object({
    phase: z.string().max(32).describe('Phase, as in Kubernetes.'),
    node: name().optional().describe('Node of the pod. Absent: the pod is not scheduled.'),
    containers: z.array(objectContainerSchema).max(MAX_CONTAINERS).describe('Init containers first.'),
  })
  .meta({ id: 'ObjectPod', description: 'What only pods have.' });
export type ObjectPod = z.infer<typeof objectPodSchema>;

export const clusterObjectSchema = z
  .object({
    kind: z.enum(OBJECT_KINDS).describe('Kind of the object.'),
    api_version: z.string().max(128).describe('API version of the object.'),
    name: name().describe('Name of the object.'),
    owner: z
      .object({
        kind: z.string().max(128).describe('Kind of the owner.'),
        name: name().describe('Name of the owner.'),
      })
      .nullable()
      .describe('The object that controls this one. For a Secret: an object that uses it. null: none.'),
    component: z
      .string()
      .max(63)
      .nullable()
      .describe('Component or data service that the object belongs to. null: the whole deployment.'),
    revision_id: z.uuid().nullable().describe('Revision that the object runs. null: none.'),
    state: z
      .enum(OBJECT_STATES)
      .describe(
        'unknown: the state is not known. Secrets are always unknown, because Berth does not read them.',
      ),
    message: message().nullable().describe('The state in words. null: nothing to add.'),
    created_at: time().nullable().describe('null: not known.'),
    pod: objectPodSchema.optional().describe('Only for pods.'),
  })
  .meta({ id: 'ClusterObject', description: 'An object of a deployment in its cluster.' });
export type ClusterObject = z.infer<typeof clusterObjectSchema>;

export const objectEventSchema = z
  .object({
    type: z.string().max(32).describe('`Normal` or `Warning`.'),
    reason: z.string().max(128).describe('Reason, as one word.'),
    message: message().describe('Message of the event.'),
    count: z.int().min(1).describe('How often the event occurred.'),
    first_at: time().nullable().describe('First time. null: not known.'),
    last_at: time().nullable().describe('Last time. null: not known.'),
    source: name().describe('The component of the cluster that reported the event.'),
  })
  .meta({ id: 'ObjectEvent', description: 'An event of Kubernetes about an object.' });
export type ObjectEvent = z.infer<typeof objectEventSchema>;

export const unreadKindSchema = z
  .object({
    kind: z.string().max(128).describe('Kind that was not read.'),
    message: message().describe('Why it was not read.'),
  })
  .meta({ id: 'UnreadKind', description: 'A kind whose objects could not be read, and why.' });
export type UnreadKind = z.infer<typeof unreadKindSchema>;

export const omittedObjectsSchema = z
  .object({
    kind: z.enum(OBJECT_KINDS).describe('Kind of the objects.'),
    count: z.int().min(0).describe('Number of objects that were read and are not listed.'),
    exact: z
      .boolean()
      .describe('false: the cluster has even more objects of this kind, which were not read.'),
  })
  .meta({ id: 'OmittedObjects', description: 'How many objects of a kind are not listed.' });
export type OmittedObjects = z.infer<typeof omittedObjectsSchema>;

export const objectMetricsSchema = z
  .object({
    available: z.boolean().describe('Whether containers have `usage`.'),
    reason: message().nullable().describe('Why containers have no `usage`. null: they have.'),
  })
  .meta({ id: 'ObjectMetrics', description: 'Whether the metrics API of the cluster was read.' });
export type ObjectMetrics = z.infer<typeof objectMetricsSchema>;

/** Name of an object, which is part of a field selector. */
export const objectNameSchema = z
  .string()
  .max(MAX_NAME)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'is not the name of a Kubernetes object');

/** What a client reads: all objects of a deployment, or one of them. */
export const objectQuerySchema = z.union([
  z.strictObject({ read: z.literal('map') }),
  z.strictObject({ read: z.literal('object'), kind: z.enum(READ_KINDS), name: objectNameSchema }),
]);
export type ObjectQuery = z.infer<typeof objectQuerySchema>;

import { z } from 'zod';
import {
  clusterObjectSchema,
  MAX_OBJECT_EVENTS,
  MAX_OBJECTS,
  OBJECT_KINDS,
  objectEventSchema,
  objectMetricsSchema,
  objectQuerySchema,
  omittedObjectsSchema,
  READ_KINDS,
  unreadKindSchema,
} from '../../domain/core/object-map.ts';

/**
 * Listener messages with objects of deployments (part of the listener protocol, see work-protocol.ts). Requests arrive with
 * those for logs (log-protocol.ts). Only a listener that names the ability `objects` gets them.
 */

export const objectRequestSchema = z.object({
  request_id: z.string(),
  deployment_id: z.string(),
  tenant_id: z
    .string()
    .optional()
    .describe('Owner of the deployment. Absent: the hub has the previous version.'),
  name: z.string().describe('metadata.name of the custom resource.'),
  namespace: z.string().describe('Namespace of the objects of the deployment.'),
  query: objectQuerySchema,
  http_request_id: z.string().optional().describe("X-Request-Id of the reader's request, for logging."),
});
export type ObjectRequest = z.infer<typeof objectRequestSchema>;

/** Maximum number of characters of a manifest, as JSON. A larger one is not sent. */
export const MAX_MANIFEST_CHARACTERS = 256 * 1024;
/** Maximum number of characters of all objects of a map, as JSON, so that the body stays below 1 MiB in UTF-8. */
export const MAX_MAP_CHARACTERS = 256 * 1024;

export const objectMapResultSchema = z.object({
  objects: z.array(clusterObjectSchema).max(MAX_OBJECTS),
  omitted: z
    .array(omittedObjectsSchema)
    .max(OBJECT_KINDS.length)
    .default([])
    .describe('Kinds of which the deployment has more objects than a response can contain.'),
  unread: z.array(unreadKindSchema).max(READ_KINDS.length + 1),
  metrics: objectMetricsSchema,
});
export type ObjectMapResult = z.infer<typeof objectMapResultSchema>;

export const objectResultSchema = z.object({
  object: clusterObjectSchema,
  manifest: z
    .string()
    .max(MAX_MANIFEST_CHARACTERS)
    .nullable()
    .describe('JSON of the object without managedFields. null: it is too large.'),
  events: z.array(objectEventSchema).max(MAX_OBJECT_EVENTS).describe('Newest first.'),
  unread: z.array(unreadKindSchema).max(2).describe('Not empty: the events could not be read.'),
});
export type ObjectResult = z.infer<typeof objectResultSchema>;

/**
 * Why a listener could not read: the object does not exist, the cluster refuses or does not respond, or the listener serves too
 * many readers.
 */
export const OBJECT_FAILURES = ['not_found', 'denied', 'unavailable', 'busy'] as const;
export type ObjectFailure = (typeof OBJECT_FAILURES)[number];

/**
 * `POST /v2/listeners/{listener_id}/object-requests/{request_id}`: the result for a reader, in one message. 404: the reader is
 * gone. Exactly one of `map`, `object` and `failure` is present.
 */
export const objectAnswerSchema = z.object({
  epoch: z.int(),
  map: objectMapResultSchema.optional(),
  object: objectResultSchema.optional(),
  failure: z.enum(OBJECT_FAILURES).optional(),
});
export type ObjectAnswer = z.infer<typeof objectAnswerSchema>;
export const objectAnswerResponseSchema = z.object({ state: z.literal('taken') });

import { z } from 'zod';
import { uuidSchema } from '../domain/deployment-bodies.ts';
import { dnsLabelSchema } from '../domain/kubernetes/names.ts';
import { NAME_FORM, nameSchema } from '../domain/name.ts';
import { LISTENER_STATUSES } from '../domain/states.ts';
import type { ListenerRecord } from '../store/records.ts';
import { timeSchema } from './deployment-schema.ts';

/** Listeners as sent and as answered. */

export const computeTypeSchema = z.enum(['k8s']).describe('What it deploys to.');

const computeConfigSchema = z
  .strictObject({
    k8s_namespaces: z
      .array(dnsLabelSchema)
      .max(1000)
      .refine((names) => new Set(names).size === names.length, 'must not name a namespace twice')
      .describe('Namespaces that deployments may use; the first is the default. Empty: any.'),
  })
  .describe('How it deploys.');

const computeIdSchema = nameSchema.describe(
  `The owner's name of the cluster, unique in the tenant. ${NAME_FORM}`,
);

export const listenerBodySchema = z
  .strictObject({
    compute_type: computeTypeSchema.default('k8s'),
    compute_id: computeIdSchema,
    compute_config: computeConfigSchema.default({ k8s_namespaces: [] }),
  })
  .describe('A listener to be made.');

export const patchListenerSchema = z
  .strictObject({
    compute_id: computeIdSchema.optional(),
    compute_config: computeConfigSchema.optional(),
    cluster_id: z
      .null()
      .optional()
      .describe(
        'null forgets which cluster the listener is for: the next one to take the lease is. For one that was built anew.',
      ),
  })
  .describe('What is to change; what is absent stays.');

export const listenerSchema = z
  .object({
    id: uuidSchema.describe('Id, a UUID.'),
    tenant_id: uuidSchema.nullable().describe("Owner; null: the platform's, usable by every tenant."),
    compute_type: z.string().describe('What it deploys to.'),
    compute_id: z.string().describe("The owner's name of the cluster."),
    compute_config: computeConfigSchema,
    version: z.string().nullable().describe("Berth's version there."),
    cluster_version: z.string().nullable().describe('Version of the cluster.'),
    cluster_id: z
      .string()
      .nullable()
      .describe(
        'The cluster that the listener is for: the first one that took the lease. No other can take it. null: none yet, or it could not tell which it is.',
      ),
    status: z
      .enum(LISTENER_STATUSES)
      .describe(
        'From its lease, at the moment of reading. NEVER_SEEN: none was ever taken. CONNECTED: it runs, and its cluster is observed. CLUSTER_UNREACHABLE: it runs, but its cluster does not answer. LOST: it ran out; deployments there are UNKNOWN.',
      ),
    unknown_resources: z
      .int()
      .describe(
        'ManagedDeployments in the cluster whose ids the hub does not know, as after a restore from an older backup: left alone, each told once by an event UnknownResource (of many at once twenty, and how many more). At most 1000 are counted.',
      ),
    last_seen_at: timeSchema
      .nullable()
      .describe('When it was last heard of: it renews its lease every few seconds.'),
    created_at: timeSchema.describe('When it was made.'),
    updated_at: timeSchema.describe('When it was last changed.'),
  })
  .describe('A listener: it carries deployments into one cluster.');
type ShownListener = z.infer<typeof listenerSchema>;

export const listenerListSchema = z
  .object({
    resources: z.array(listenerSchema).describe('Newest first.'),
    offset: z.int().describe('Pass it in the next request to get the next page.'),
  })
  .describe('A page of listeners.');

/** A listener as answered. */
export function presentListener(record: ListenerRecord): ShownListener {
  return {
    id: record.id,
    tenant_id: record.tenantId,
    compute_type: record.computeType,
    compute_id: record.computeId,
    compute_config: { k8s_namespaces: record.computeConfig.k8s_namespaces },
    version: record.version,
    cluster_version: record.clusterVersion,
    cluster_id: record.clusterId,
    status: record.status,
    unknown_resources: record.unknownResources.length,
    last_seen_at: record.lastSeenAt?.toISOString() ?? null,
    created_at: record.createdAt.toISOString(),
    updated_at: record.updatedAt.toISOString(),
  };
}

import { z } from 'zod';
import { NAME_FORM, nameSchema } from '../../../domain/core/name.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { dnsLabelSchema } from '../../../domain/kubernetes/names.ts';
import { LISTENER_STATUSES } from '../../../domain/revision/states.ts';
import type { ListenerRecord } from '../../store/core/records.ts';
import { pageSchema } from '../core/query.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';

/** Listeners in requests and responses. */

export const computeTypeSchema = z.enum(['k8s']).describe('Kind of the target.');

const computeConfigSchema = z
  .strictObject({
    k8s_namespaces: z
      .array(dnsLabelSchema)
      .max(1000)
      .refine((names) => new Set(names).size === names.length, 'must not contain a namespace twice')
      .describe(
        'Namespaces that deployments can use. The first one is the default. An empty list allows all namespaces.',
      ),
  })
  .meta({ id: 'ComputeConfig', description: 'Configuration of the listener.' });

const computeIdSchema = nameSchema.describe(`Name of the cluster, unique in the tenant. ${NAME_FORM}`);

export const listenerBodySchema = z
  .strictObject({
    compute_type: computeTypeSchema.default('k8s'),
    compute_id: computeIdSchema,
    compute_config: computeConfigSchema.default({ k8s_namespaces: [] }),
  })
  .meta({ id: 'CreateListener', description: 'The listener to create.' });

export const patchListenerSchema = z
  .strictObject({
    compute_id: computeIdSchema.optional(),
    compute_config: computeConfigSchema.optional(),
    cluster_id: z
      .null()
      .optional()
      .describe(
        'null: clear the cluster of the listener, for a cluster that was rebuilt. The next cluster that takes the lease is then bound to the listener.',
      ),
  })
  .meta({ id: 'UpdateListener', description: 'The changes. Absent fields keep their value.' });

export const listenerSchema = z
  .object({
    id: uuidSchema.describe('Id, a UUID.'),
    tenant_id: uuidSchema
      .nullable()
      .describe('Owner. null: the platform. Every tenant can use a listener of the platform.'),
    compute_type: z.string().describe('Kind of the target.'),
    compute_id: z.string().describe('Name of the cluster.'),
    compute_config: computeConfigSchema,
    version: z.string().nullable().describe('Version of Berth in the cluster.'),
    cluster_version: z.string().nullable().describe('Kubernetes version of the cluster.'),
    cluster_id: z
      .string()
      .nullable()
      .describe(
        'The cluster of the listener: the first one that took the lease. No other cluster can take the lease. null: no cluster has taken it yet, or the cluster could not be identified.',
      ),
    status: z
      .enum(LISTENER_STATUSES)
      .describe(
        'Derived from the lease at the time of the request. NEVER_SEEN: the lease was never taken. CONNECTED: the ' +
          'listener runs and observes its cluster. CLUSTER_UNREACHABLE: the listener runs, but its cluster does not ' +
          'respond. LOST: the lease expired, and its deployments are UNKNOWN.',
      ),
    unknown_resources: z
      .int()
      .describe(
        'Number of ManagedDeployments in the cluster whose ids the hub does not know, for example after a restore from an older backup. Berth does not change these resources. Each of them causes one event UnknownResource. If more than twenty appear at once, only the first twenty cause an event each, and one more event contains the number of the others. At most 1000 are counted.',
      ),
    last_seen_at: timeSchema
      .nullable()
      .describe('Time of the last lease renewal. Listeners renew every few seconds.'),
    created_at: timeSchema.describe('Time of creation.'),
    updated_at: timeSchema.describe('Time of the last change.'),
  })
  .meta({ id: 'Listener', description: 'A listener, which applies deployments in one cluster.' });
type ShownListener = z.infer<typeof listenerSchema>;

export const listenerListSchema = pageSchema('ListenerPage', listenerSchema, 'A page of listeners.');

/** A listener in a response. */
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

import { z } from 'zod';
import { LISTENER_ABILITIES } from '../../domain/core/log-query.ts';
import { dnsLabelSchema } from '../../domain/kubernetes/names.ts';
import { renderConfigSchema } from '../render/render-config.ts';

/** The lease of a listener at the hub. For rules of all listener messages, see work-protocol.ts. */

/** `PUT /v2/listeners/{listener_id}/lease`. */
export const leaseRequestSchema = z.object({
  holder: z.string().min(1).max(253).describe('Identity of the calling process.'),
  version: z.string().max(64).describe("Berth's version."),
  cluster_version: z.string().max(64).describe('Kubernetes version that the API server reports.'),
  rendering: renderConfigSchema.nullable().describe("The operator's rendering configuration."),
  namespaces: z
    .array(dnsLabelSchema)
    .max(1000)
    .optional()
    .describe('Namespaces that the listener may use. Absent: the registered namespaces.'),
  abilities: z
    .array(z.string().max(32))
    .max(50)
    .optional()
    .describe(
      `Optional features that the listener supports: ${LISTENER_ABILITIES.join(', ')}. Absent: the listener has the previous version.`,
    ),
  epoch: z
    .int()
    .nullable()
    .describe('The epoch to renew. null: start a new epoch (always in the first call of a process).'),
  release: z
    .boolean()
    .optional()
    .describe('True: release the lease, so that a successor does not have to wait.'),
  cluster_reachable: z
    .boolean()
    .optional()
    .describe(
      'False: the cluster does not answer. The hub then reports the statuses of its deployments as UNKNOWN.',
    ),
  unreadable_namespaces: z
    .array(z.object({ namespace: dnsLabelSchema, message: z.string().max(1024) }))
    .max(1000)
    .optional()
    .describe(
      'Namespaces that the listener cannot read now, each with the cause. The listener serves the other namespaces.',
    ),
  cluster_id: z
    .string()
    .max(128)
    .optional()
    .describe(
      'Id of the cluster: NAMESPACE/UID of kube-system, or of the first namespace of the listener if it cannot read ' +
        'kube-system. The hub stores the first reported id, and rejects the lease for another id.',
    ),
});
export type LeaseRequest = z.infer<typeof leaseRequestSchema>;

/** Start of the detail of a 409 that only a change of settings, or of the listener at the hub, can resolve. */
export const ANOTHER_CLUSTER = 'The listener belongs to another cluster';

/**
 * Otherwise the response is 409: another process holds the lease, `epoch` is not the current epoch, or ANOTHER_CLUSTER.
 */
export const leaseResponseSchema = z.object({
  epoch: z
    .int()
    .describe(
      'Counter of lease holders. Every later call of the holder sends this epoch. A call with an older epoch gets 409.',
    ),
  ttl_seconds: z
    .number()
    .describe(
      'Seconds after a renewal in which only the holder can use the lease. After that, another process can take the lease.',
    ),
});
export type LeaseResponse = z.infer<typeof leaseResponseSchema>;

/** `GET /v2/listeners/{listener_id}/lease`: reads the lease without acquiring it, for `berth listener doctor`. */
export const leaseStateSchema = z.object({
  hub_version: z.string().describe("The hub's version of Berth."),
  epoch: z.int().describe('Counter of lease holders. 0: there was no holder yet.'),
  holder: z
    .string()
    .nullable()
    .describe(
      'The process that holds the lease, or held it last. null: the lease was released, or never taken.',
    ),
  held: z.boolean().describe('True: the holder renewed in time. No other process can take the lease.'),
  namespaces: z.array(z.string()).describe('Namespaces that deployments may use. Empty: any.'),
  used_namespaces: z
    .array(z.object({ namespace: z.string(), deployments: z.int() }))
    .describe('Namespaces with deployments of the listener, except namespaces of tenants. At most 1000.'),
  rendering: renderConfigSchema
    .nullable()
    .describe("The operator's rendering configuration as last reported. null: not reported yet."),
  cluster_id: z
    .string()
    .nullable()
    .describe('Id of the cluster of the listener, from its first lease. null: the next lease sets it.'),
});
export type LeaseState = z.infer<typeof leaseStateSchema>;

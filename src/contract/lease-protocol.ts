import { z } from 'zod';
import { dnsLabelSchema } from '../domain/kubernetes/names.ts';
import { renderConfigSchema } from './render-config.ts';

/** Who works for a listener: its lease at the hub. What holds for all messages of listeners stands in work-protocol.ts. */

/** `PUT /v2/listeners/{id}/lease`. */
export const leaseRequestSchema = z.object({
  holder: z.string().min(1).max(253).describe('Identity of the process that asks.'),
  version: z.string().max(64).describe("Berth's version."),
  cluster_version: z.string().max(64).describe('Version of the cluster, as its API server says.'),
  rendering: renderConfigSchema.nullable().describe("The operator's rendering configuration."),
  namespaces: z
    .array(dnsLabelSchema)
    .max(1000)
    .optional()
    .describe('Namespaces that the listener may use; absent: as registered.'),
  epoch: z
    .int()
    .nullable()
    .describe('The epoch to renew; null: begin a new one (always the first call of a process).'),
  release: z.boolean().optional().describe('True: give the lease up, so that a successor need not wait.'),
  cluster_reachable: z
    .boolean()
    .optional()
    .describe('False: hub reached, but the cluster does not answer: statuses are UNKNOWN.'),
  unreadable_namespaces: z
    .array(z.object({ namespace: dnsLabelSchema, message: z.string().max(1024) }))
    .max(1000)
    .optional()
    .describe('Those of them that it cannot read at present, each with why; the others are served.'),
  cluster_id: z
    .string()
    .max(128)
    .optional()
    .describe(
      'Which cluster it is: NAMESPACE/UID of kube-system, or of the first namespace that the listener may use where it may not read that one. The first one told is kept; with another one the lease is refused.',
    ),
});
export type LeaseRequest = z.infer<typeof leaseRequestSchema>;

/** Begins the detail of a 409 that only a change of settings, or of the listener at the hub, can end. */
export const ANOTHER_CLUSTER = 'The listener belongs to another cluster';

/** 409 instead: another process holds the lease, `epoch` is no longer the current one, or ANOTHER_CLUSTER. */
export const leaseResponseSchema = z.object({
  epoch: z.int().describe('Counts holders; every later call carries it. A call with an older one gets 409.'),
  ttl_seconds: z
    .number()
    .describe('The lease is the holder’s for this long after a renewal; then another process may take it.'),
});
export type LeaseResponse = z.infer<typeof leaseResponseSchema>;

/** `GET /v2/listeners/{id}/lease`: who holds it, without taking it; for `berth listener doctor`. */
export const leaseStateSchema = z.object({
  hub_version: z.string().describe("The hub's version of Berth."),
  epoch: z.int().describe('Counts holders; 0: there was none yet.'),
  holder: z
    .string()
    .nullable()
    .describe('The process that holds the lease or was the last to; null: it was given up, or never taken.'),
  held: z
    .boolean()
    .describe('True: the holder was heard of within its time, nobody else can take the lease.'),
  namespaces: z.array(z.string()).describe('Namespaces that deployments may use. Empty: any.'),
  used_namespaces: z
    .array(z.object({ namespace: z.string(), deployments: z.int() }))
    .describe('Where deployments of the listener are, but for the namespaces of tenants; at most 1000.'),
  rendering: renderConfigSchema
    .nullable()
    .describe("The operator's rendering configuration as last reported; null: none yet."),
  cluster_id: z
    .string()
    .nullable()
    .describe('The cluster that the listener is for, as its first lease told; null: the next one to tell.'),
});
export type LeaseState = z.infer<typeof leaseStateSchema>;

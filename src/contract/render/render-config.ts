import { z } from 'zod';
import { HOSTING_MODES } from '../../domain/deployment/source.ts';

/** What an OTLP endpoint may speak, in OpenTelemetry's words. */
export const OTLP_PROTOCOLS = ['http/protobuf', 'http/json', 'grpc'] as const;

/**
 * How a cluster's operator renders workloads: everything that is not in the custom resource but shapes the objects.
 * The operator's own configuration; the listener reports it with its lease, so that the API's dry run renders the same.
 * Fields of a later version are passed over.
 */
export const renderConfigSchema = z.object({
  hosting: z.enum(HOSTING_MODES),
  /** Pod Security level that every pod must meet. cloud: restricted; self_hosted: baseline. */
  podSecurity: z.enum(['privileged', 'baseline', 'restricted']),
  databaseImage: z.string(),
  cacheImage: z.string(),
  /**
   * Registry of the platform; null or absent: not known, and in cloud each image of a tenant is pulled whenever a container starts.
   */
  registry: z.string().nullable().optional(),
  /** HTTP path for the api probes; null: TCP. */
  healthPath: z.string().nullable(),
  /** Seconds until a rollout that does not finish has failed. */
  progressDeadlineSeconds: z.int().min(1),
  /** Seconds that a pod of a component must have been ready to count as available; absent: 0. */
  minReadySeconds: z.int().min(0).optional(),
  routing: z.object({
    mode: z.enum(['none', 'ingress', 'gateway']),
    /** IngressClass, or `namespace/name` of the Gateway. */
    className: z.string().nullable(),
    /** cert-manager ClusterIssuer for TLS; null: no certificate is asked for. */
    tlsIssuer: z.string().nullable(),
  }),
  /** OTLP endpoint for the pods; null: the platform has none. */
  otlpEndpoint: z.string().nullable(),
  /** What that endpoint speaks; absent: http/protobuf. */
  otlpProtocol: z.enum(OTLP_PROTOCOLS).optional(),
  /** Secret in the namespace of the pods that holds the headers for that endpoint; null or absent: none is sent. */
  otlpHeadersSecret: z.string().nullable().optional(),
  /** Whether a default-deny NetworkPolicy is made for each app. */
  networkIsolation: z.boolean(),
  /** Networks that isolated apps do not reach, beside private ones; absent: none. */
  closedNetworks: z.array(z.string()).optional(),
  /** Networks of a cloud provider's own services that isolated apps do reach; absent: none. */
  openNetworks: z.array(z.string()).optional(),
  /** Namespace in which tenants' Dockerfiles run, which reaches no isolated app; absent: not known. */
  buildNamespace: z.string().optional(),
  /** StorageClass of database volumes; null: the cluster's default. */
  storageClass: z.string().nullable(),
  /** `major.minor` of the cluster, e.g. `1.36`. */
  kubernetesVersion: z.string(),
});
export type RenderConfig = z.infer<typeof renderConfigSchema>;

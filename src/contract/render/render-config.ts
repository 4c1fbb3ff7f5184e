import { z } from 'zod';
import { HOSTING_MODES } from '../../domain/deployment/source.ts';

/** Protocols of an OTLP endpoint, as OpenTelemetry names them. */
export const OTLP_PROTOCOLS = ['http/protobuf', 'http/json', 'grpc'] as const;

/**
 * How the operator of a cluster renders workloads: all inputs besides the custom resource. The configuration of the
 * operator sets these inputs. The listener reports this configuration with its lease, so that the dry run of the API
 * renders the same objects. Fields of later versions are ignored.
 */
export const renderConfigSchema = z.object({
  hosting: z.enum(HOSTING_MODES),
  /** Pod Security level of every pod. cloud: restricted; self_hosted: baseline. */
  podSecurity: z.enum(['privileged', 'baseline', 'restricted']),
  databaseImage: z.string(),
  cacheImage: z.string(),
  /**
   * Registry of the platform. null or absent: not known. In cloud mode, images of tenants are then pulled whenever a container starts.
   */
  registry: z.string().nullable().optional(),
  /** HTTP path of the probes of the api component. null: TCP probes. */
  healthPath: z.string().nullable(),
  /** Deadline of a rollout, in seconds. */
  progressDeadlineSeconds: z.int().min(1),
  /** Seconds that a pod must be ready before it counts as available. Absent: 0. */
  minReadySeconds: z.int().min(0).optional(),
  routing: z.object({
    mode: z.enum(['none', 'ingress', 'gateway']),
    /** IngressClass, or `namespace/name` of the Gateway. */
    className: z.string().nullable(),
    /** cert-manager ClusterIssuer for TLS. null: no certificate is requested. */
    tlsIssuer: z.string().nullable(),
  }),
  /** OTLP endpoint for the pods. null: none. */
  otlpEndpoint: z.string().nullable(),
  /** Protocol of that endpoint. Absent: http/protobuf. */
  otlpProtocol: z.enum(OTLP_PROTOCOLS).optional(),
  /** Secret in the namespace of the pods with the headers for that endpoint. null or absent: no headers are sent. */
  otlpHeadersSecret: z.string().nullable().optional(),
  /** Whether each app gets a default-deny NetworkPolicy. */
  networkIsolation: z.boolean(),
  /** Networks that isolated apps cannot reach, in addition to private ones. Absent: none. */
  closedNetworks: z.array(z.string()).optional(),
  /** Networks of services of the cloud provider that isolated apps can reach. Absent: none. */
  openNetworks: z.array(z.string()).optional(),
  /**
   * Namespace of builds. Dockerfiles of tenants run in this namespace, so its pods cannot reach isolated apps. Absent:
   * not known.
   */
  buildNamespace: z.string().optional(),
  /** Whether the cluster builds images. Absent: not known. */
  builds: z.boolean().optional(),
  /**
   * Ephemeral storage of the containers of app, database and cache, as quantities. null: not set. Absent: neither is set.
   * Sidecars and init containers are rendered as sent.
   */
  ephemeralStorage: z.object({ request: z.string().nullable(), limit: z.string().nullable() }).optional(),
  /** StorageClass of database volumes. null: the default of the cluster. */
  storageClass: z.string().nullable(),
  /** `major.minor` of the cluster, e.g. `1.36`. */
  kubernetesVersion: z.string(),
});
export type RenderConfig = z.infer<typeof renderConfigSchema>;

/**
 * Reserved names. All reserved names are in this file, so that the API rejects exactly the names that the renderer
 * sets.
 */

/** Environment variables that Berth sets in the app container. A secret cannot have the name of such a variable. */
export const RESERVED_ENV_NAMES = [
  'COMPONENT',
  'PORT',
  'DATABASE_URI',
  'DATABASE_POOL_SIZE',
  'CACHE_URI',
  'DEPLOYMENT_ID',
  'DEPLOYMENT_NAME',
  'REVISION_ID',
  'TENANT_ID',
  'TRACING_PROJECT',
] as const;

/** Environment variables that Berth sets in the app container, unless a secret has the name. */
export const TRACING_ENV_NAMES = [
  'OTEL_SERVICE_NAME',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_EXPORTER_OTLP_HEADERS',
] as const;

const ENV_NAMES: ReadonlySet<string> = new Set(RESERVED_ENV_NAMES);

/** Whether Berth sets this environment variable in the app container. */
export function isReservedEnvName(name: string): boolean {
  return ENV_NAMES.has(name);
}

/** Name of the main container of every app pod. */
export const APP_CONTAINER_NAME = 'app';

/** Prefix of the names of volumes that Berth adds. */
export const RESERVED_VOLUME_PREFIX = 'berth-';

const RESERVED_DOMAIN = 'berth.dev';

const RESERVED_KEYS: ReadonlySet<string> = new Set([
  ...['name', 'instance', 'component', 'part-of', 'managed-by', 'version'].map(
    (part) => `app.kubernetes.io/${part}`,
  ),
  // Keys that the Deployment controller and the kubelet write, or that the API server interprets.
  'pod-template-hash',
  'controller-revision-hash',
  'kubectl.kubernetes.io/last-applied-configuration',
  'controller.kubernetes.io/pod-deletion-cost',
]);

const RESERVED_PREFIXES: ReadonlySet<string> = new Set([
  'deployment.kubernetes.io',
  'scheduler.alpha.kubernetes.io',
  'seccomp.security.alpha.kubernetes.io',
  'container.seccomp.security.alpha.kubernetes.io',
  'container.apparmor.security.beta.kubernetes.io',
]);

/** Whether a label or annotation key is reserved for Berth, or for parts of Kubernetes that a client must not imitate. */
export function isReservedMetadataKey(key: string): boolean {
  const lower = key.toLowerCase();
  const [prefix = ''] = lower.includes('/') ? lower.split('/') : [];
  if (prefix === RESERVED_DOMAIN || prefix.endsWith(`.${RESERVED_DOMAIN}`)) return true;
  // The kubelet marks static pods with kubernetes.io/config.*.
  if (lower.startsWith('kubernetes.io/config.')) return true;
  return RESERVED_PREFIXES.has(prefix) || RESERVED_KEYS.has(lower);
}

/** Annotation with the default container of `kubectl logs` and `kubectl exec`. */
export const DEFAULT_CONTAINER_ANNOTATION = 'kubectl.kubernetes.io/default-container';

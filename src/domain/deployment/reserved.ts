/** Names that Berth keeps for itself. One place, so that the API refuses exactly what the builders set. */

/** Environment variables that Berth sets in the app container: no secret may have such a name. */
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

/** Environment variables that Berth sets in the app container unless a secret of the deployment has the name. */
export const TRACING_ENV_NAMES = [
  'OTEL_SERVICE_NAME',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_EXPORTER_OTLP_HEADERS',
] as const;

const ENV_NAMES: ReadonlySet<string> = new Set(RESERVED_ENV_NAMES);

/** Whether Berth sets this environment variable in the app container itself. */
export function isReservedEnvName(name: string): boolean {
  return ENV_NAMES.has(name);
}

/** Name of the main container of every app pod. */
export const APP_CONTAINER_NAME = 'app';

/** Prefix of the names of volumes that Berth adds itself. */
export const RESERVED_VOLUME_PREFIX = 'berth-';

const RESERVED_DOMAIN = 'berth.dev';

const RESERVED_KEYS: ReadonlySet<string> = new Set([
  ...['name', 'instance', 'component', 'part-of', 'managed-by', 'version'].map(
    (part) => `app.kubernetes.io/${part}`,
  ),
  // Written by the Deployment controller and the kubelet, or read by the API server as something else than metadata.
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

/** Whether a label or annotation key is kept for Berth, or for parts of Kubernetes that a client must not imitate. */
export function isReservedMetadataKey(key: string): boolean {
  const lower = key.toLowerCase();
  const [prefix = ''] = lower.includes('/') ? lower.split('/') : [];
  if (prefix === RESERVED_DOMAIN || prefix.endsWith(`.${RESERVED_DOMAIN}`)) return true;
  // kubernetes.io/config.*: how the kubelet marks pods that come from files.
  if (lower.startsWith('kubernetes.io/config.')) return true;
  return RESERVED_PREFIXES.has(prefix) || RESERVED_KEYS.has(lower);
}

import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { buildsOf } from './builds.ts';
import { ConfigError } from './config-error.ts';
import { imagesOf, isRegistryInsecure } from './image-settings.ts';
import { platformHostsOf } from './platform-hosts.ts';
import { parseRate, rateOfKeys } from './rates.ts';
import { renderingOf } from './rendering.ts';
import type { Setting } from './setting.ts';
import { parseSettings, SETTINGS, type Settings } from './settings.ts';
import { signInOf } from './sign-in-settings.ts';
import { tracesOf } from './telemetry-settings.ts';
import { describeUnknown, unknownSettings } from './unknown-settings.ts';

// The only entry point to the settings of the server. Only this file and client-settings.ts read process.env.
export { ConfigError } from './config-error.ts';
export { SETTINGS, type SettingHelp, settingHelps } from './settings.ts';
export { describeUnknown } from './unknown-settings.ts';

/** The registry of the platform. */
function registryOf(settings: Settings) {
  return {
    registry: settings.BERTH_REGISTRY ?? null,
    registrySigningKeys: settings.BERTH_REGISTRY_SIGNING_KEY ?? null,
    pushTokenSeconds: settings.BERTH_PUSH_TOKEN_SECONDS,
    registryInsecure: isRegistryInsecure(settings),
  };
}

/** The whole configuration, parsed once at start. */
export interface Config extends ReturnType<typeof loadConfig> {}

/**
 * Reads the configuration from the environment.
 * @throws ConfigError that names every wrong setting at once
 */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env) {
  const settings = parseSettings(environment);
  const inCluster = environment['KUBERNETES_SERVICE_HOST'] !== undefined;
  const kubeconfig = settings.BERTH_KUBECONFIG ?? settings.KUBECONFIG ?? null;
  const namespaceFile = `${settings.BERTH_SERVICE_ACCOUNT_PATH}/namespace`;
  const podNamespace = existsSync(namespaceFile) ? readFileSync(namespaceFile, 'utf8').trim() : null;
  return {
    databaseUrl: settings.DATABASE_URL ?? null,
    allowRlsBypass: settings.BERTH_ALLOW_RLS_BYPASS ?? null,
    databasePool: settings.BERTH_DATABASE_POOL,
    host: settings.BERTH_HOST,
    port: settings.BERTH_PORT,
    metricsPort: settings.BERTH_METRICS_PORT,
    publicUrl: settings.BERTH_PUBLIC_URL ?? null,
    hasConsole: settings.BERTH_CONSOLE ?? true,
    platformHosts: platformHostsOf(settings),
    appDomain: settings.BERTH_APP_DOMAIN ?? null,
    dnsServers: settings.BERTH_DNS_SERVERS,
    hosting: settings.BERTH_HOSTING,
    policyFile: settings.BERTH_POLICY ?? null,
    encryptionKeys: parseEncryptionKeys(settings.BERTH_ENCRYPTION_KEYS),
    lostEncryptionKeys: settings.BERTH_LOST_ENCRYPTION_KEYS,
    bootstrapApiKey: settings.BERTH_BOOTSTRAP_API_KEY ?? null,
    bootstrapTenant: settings.BERTH_BOOTSTRAP_TENANT,
    ...registryOf(settings),
    rateLimits: {
      perKey: rateOfKeys(settings.BERTH_RATE_LIMIT, settings.BERTH_HOSTING),
      failures: parseRate(settings.BERTH_AUTH_FAILURE_LIMIT),
      webhooks: parseRate(settings.BERTH_WEBHOOK_LIMIT),
      clusterReads: parseRate(settings.BERTH_CLUSTER_READ_LIMIT),
    },
    trustProxy: settings.BERTH_TRUST_PROXY,
    migrationWaitSeconds: settings.BERTH_MIGRATION_WAIT_SECONDS,
    deletionGraceSeconds: settings.BERTH_DELETION_GRACE,
    secretPollSeconds: settings.BERTH_SECRET_POLL_SECONDS,
    repoPollSeconds: settings.BERTH_REPO_POLL_SECONDS,
    gitAllowPrivate: settings.BERTH_GIT_ALLOW_PRIVATE ?? false,
    leaseSeconds: settings.BERTH_LEASE_SECONDS,
    tracing:
      settings.BERTH_TRACING_URL === undefined
        ? null
        : { url: settings.BERTH_TRACING_URL, token: settings.BERTH_TRACING_TOKEN ?? null },
    hubUrl: settings.BERTH_HUB_URL ?? null,
    hubCaFile: settings.BERTH_HUB_CA ?? null,
    listenerId: settings.BERTH_LISTENER_ID,
    listenerKey: settings.BERTH_LISTENER_KEY ?? null,
    listenerKubeconfig: settings.BERTH_LISTENER_KUBECONFIG ?? kubeconfig,
    operatorKubeconfig: settings.BERTH_OPERATOR_KUBECONFIG ?? kubeconfig,
    inCluster,
    serviceAccountPath: settings.BERTH_SERVICE_ACCOUNT_PATH,
    /** The environment for the in-cluster address and the proxy for calls of the hub. */
    clusterEnvironment: environment,
    namespace: settings.BERTH_NAMESPACE ?? podNamespace ?? 'berth-system',
    namespaces: settings.BERTH_NAMESPACES,
    path: pathOf(environment),
    identity: `${hostname()}_${process.pid}_${Date.now().toString(36)}`,
    logLevel: settings.BERTH_LOG_LEVEL,
    /** Unknown settings, for a warning. Unknown settings are misspelled, or belong to another version. */
    unknownSettings: unknownSettings(environment, Object.keys(SETTINGS)),
    signIn: signInOf(settings),
    traces: tracesOf(settings),
    rendering: renderingOf(settings),
    builds: buildsOf(settings),
    images: imagesOf(settings),
  };
}

/** PATH of the processes that Berth starts. */
function pathOf(environment: NodeJS.ProcessEnv): string {
  return environment['PATH'] ?? '/usr/local/bin:/usr/bin:/bin';
}

/** The settings as lines `NAME=value` with secrets masked: the output of `berth config`. */
export function describeConfig(environment: NodeJS.ProcessEnv = process.env): string[] {
  const settings: Record<string, unknown> = parseSettings(environment);
  const unknown = unknownSettings(environment, Object.keys(SETTINGS));
  const lines = Object.entries(SETTINGS).map(([name, setting]: [string, Setting]) => {
    const value = settings[name];
    if (value === undefined || (Array.isArray(value) && value.length === 0))
      return `# ${name} is not set: ${setting.help}`;
    return `${name}=${setting.secret ? '**********' : String(value)}`;
  });
  return [...lines, ...unknown.map((setting) => `# ${describeUnknown(setting)}`)];
}

/** Settings of the steps of a build, in their Job. */
export function buildStepSettings(environment: NodeJS.ProcessEnv = process.env) {
  const settings = parseSettings(environment);
  return {
    allowPrivate: settings.BERTH_GIT_ALLOW_PRIVATE ?? false,
    caFile: settings.BERTH_BUILD_CA ?? null,
    baseImages: { node: settings.BERTH_BUILD_NODE_IMAGE, python: settings.BERTH_BUILD_PYTHON_IMAGE },
    terminationLog: settings.BERTH_TERMINATION_LOG,
    path: pathOf(environment),
  };
}

/**
 * Name of the setting that contains the kubeconfig of the listener. If no setting with a kubeconfig is set, the result
 * is the recommended setting.
 */
export function listenerKubeconfigSetting(environment: NodeJS.ProcessEnv = process.env): string {
  const settings = ['BERTH_LISTENER_KUBECONFIG', 'BERTH_KUBECONFIG'];
  return settings.find((name) => Boolean(environment[name])) ?? 'KUBECONFIG';
}

/**
 * The keys for secrets at rest. The first key encrypts.
 * @throws ConfigError when a key is malformed or an id is given twice
 */
function parseEncryptionKeys(text: string | undefined): { id: string; key: Buffer }[] {
  const keys = (text ?? '')
    .split(',')
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const [id = '', encoded = ''] = part.trim().split(/:(.*)/s);
      const key = Buffer.from(encoded, 'base64');
      if (!/^[A-Za-z0-9_-]{1,32}$/.test(id) || key.length !== 32) {
        throw new ConfigError([
          'BERTH_ENCRYPTION_KEYS: each key is id:base64 of 32 bytes; create one with: echo "k1:$(openssl rand -base64 32)"',
        ]);
      }
      return { id, key };
    });
  const twice = keys.find(({ id }, index) => keys.findIndex((other) => other.id === id) !== index);
  if (twice !== undefined) {
    throw new ConfigError([
      `BERTH_ENCRYPTION_KEYS: the id ${twice.id} is given twice; each key needs a different id`,
    ]);
  }
  return keys;
}

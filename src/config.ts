import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { z } from 'zod';
import { OTLP_PROTOCOLS, type RenderConfig } from './contract/render-config.ts';
import { dnsSubdomainSchema } from './domain/kubernetes/names.ts';
import { HOSTING_MODES, PLATFORM_LISTENER_ID } from './domain/source.ts';

/** Where a pod finds its own namespace. */
const IN_CLUSTER_NAMESPACE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

const optional = z.string().optional();
const csv = z
  .string()
  .optional()
  .transform((text) =>
    (text ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );
const port = (fallback: number) => z.coerce.number().int().min(0).max(65_535).default(fallback);
const count = (fallback: number, least = 1) => z.coerce.number().int().min(least).default(fallback);
const flag = z
  .enum(['true', 'false'])
  .optional()
  .transform((value) => (value === undefined ? undefined : value === 'true'));

/** Who reads a setting. */
type Reader = 'api' | 'listener' | 'operator';
const HUB = ['api'] as const;
const CLUSTER = ['listener', 'operator'] as const;

/** Why a text is no URL that Berth itself, or the pods, may call; null: it is one. */
function urlProblem(text: string): string | null {
  if (/\s/.test(text) || !URL.canParse(text)) return 'is no URL';
  const { protocol, username, password, search, hash } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') return 'is not http or https';
  if (username !== '' || password !== '') return 'holds a user or password; a token has a setting of its own';
  return search === '' && hash === '' ? null : "must not contain '?' or '#'";
}
/** A base URL without secrets in it; it may be on a private network. */
const baseUrl = z
  .string()
  .superRefine((text, ctx) => {
    const message = urlProblem(text);
    if (message !== null) {
      ctx.addIssue({ code: 'custom', message: `${message}; next: set it to one such as https://host/path` });
    }
  })
  .optional();

/** `PER_SECOND:BURST`, or `off`. */
const rateText = z
  .string()
  .regex(/^(off|\d{1,6}(\.\d{1,3})?:\d{1,7})$/, 'must be PER_SECOND:BURST such as 50:200, or off')
  .refine((text) => !/^[0.]+:|:0+$/.test(text), 'must be more than 0, with a burst of at least 1');
const rate = (fallback: string) => rateText.default(fallback);

/** Of an API key, where none is set. Tenants of a cloud are strangers to each other. */
const DEFAULT_RATES = { cloud: '100:1000', self_hosted: '500:5000' } as const;

/** A rate as text, in numbers; null: off. */
function parseRate(text: string): { perSecond: number; burst: number } | null {
  const [perSecond = 0, burst = 0] = text.split(':').map(Number);
  return text === 'off' ? null : { perSecond, burst };
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/** Addresses and networks of proxies. A mere number of them would let whoever reaches the API past them forge addresses. */
const proxies = csv.refine(
  (parts) => parts.every(isNetwork),
  'must be addresses or networks such as 10.0.0.0/8, comma-separated',
);

interface Setting {
  readonly schema: z.ZodType;
  readonly help: string;
  readonly secret?: true;
  /** Absent: every role. */
  readonly readers?: readonly Reader[];
}

const setting = <T extends z.ZodType>(schema: T, help: string, readers?: readonly Reader[]) => ({
  schema,
  help,
  readers,
});
const secret = <T extends z.ZodType>(schema: T, help: string, readers?: readonly Reader[]) => ({
  ...setting(schema, help, readers),
  secret: true as const,
});

/** Every setting: environment variable → how it is read and what it means. */
export const SETTINGS = {
  DATABASE_URL: secret(
    optional,
    'PostgreSQL of the hub (api, migrate, keys): postgres://user:password@host/name; an ordinary role that owns it',
    HUB,
  ),
  BERTH_ALLOW_RLS_BYPASS: setting(
    flag,
    'true: the user of DATABASE_URL may be a superuser or have BYPASSRLS; unset: refused in cloud, warned of else',
    HUB,
  ),
  BERTH_DATABASE_POOL: setting(count(10), 'connections of each API process', HUB),
  BERTH_HOST: setting(
    z.string().default('127.0.0.1'),
    'address that the API, and the health of each role, listen on',
  ),
  BERTH_PORT: setting(port(8080), 'port of the API; 0: a free one', HUB),
  BERTH_METRICS_PORT: setting(
    port(9090),
    'port of /metrics and of the health of listener and operator; 0: a free one',
  ),
  BERTH_PUBLIC_URL: setting(optional, 'base URL under which clients reach the API', HUB),
  BERTH_APP_DOMAIN: setting(
    dnsSubdomainSchema.optional(),
    'cloud: each deployment gets the URL https://<app>.<this domain> as its custom_url; unset: none',
    HUB,
  ),
  BERTH_HOSTING: setting(
    z.enum(HOSTING_MODES).default('self_hosted'),
    'cloud or self_hosted; decides sources and policy',
  ),
  BERTH_POLICY: setting(optional, 'YAML file that changes the hosting mode’s policy', HUB),
  BERTH_ENCRYPTION_KEYS: secret(
    optional,
    'keys for secrets at rest, id:base64 of 32 bytes, comma-separated, the first one encrypts (api, keys)',
    HUB,
  ),
  BERTH_LOST_ENCRYPTION_KEYS: setting(
    csv,
    'ids of encryption keys that are gone for good: the API starts although what they sealed cannot be read',
    HUB,
  ),
  BERTH_BOOTSTRAP_API_KEY: secret(
    optional,
    'a first API key with all scopes, for the tenant BERTH_BOOTSTRAP_TENANT',
    HUB,
  ),
  BERTH_BOOTSTRAP_TENANT: setting(
    z.string().default('default'),
    'name of the tenant of the bootstrap key',
    HUB,
  ),
  BERTH_REGISTRY: setting(optional, 'registry of the platform; internal images must be under it', HUB),
  BERTH_RATE_LIMIT: setting(
    rateText.optional(),
    'calls of one API key in each API process, PER_SECOND:BURST or off; unset: 500:5000, in cloud 100:1000; listeners have ten times as much',
    HUB,
  ),
  BERTH_AUTH_FAILURE_LIMIT: setting(
    rate('1:60'),
    'calls without a valid API key from one address, PER_SECOND:BURST or off',
    HUB,
  ),
  BERTH_TRUST_PROXY: setting(
    proxies,
    'addresses or networks of proxies whose X-Forwarded-For is believed, comma-separated; unset: nobody’s',
    HUB,
  ),
  BERTH_DELETION_GRACE: setting(
    z.coerce.number().int().min(0).max(31_536_000).default(0),
    'seconds in which a deleted deployment can be restored, with nothing running; then its data goes',
    HUB,
  ),
  BERTH_GIT_ALLOW_PRIVATE: setting(
    flag,
    'true: git hosts of integrations may be on private addresses, for hosts on premises; unset: false',
    HUB,
  ),
  BERTH_LEASE_SECONDS: setting(count(60, 3), 'a listener that has not renewed for this long is lost', HUB),
  BERTH_HUB_URL: setting(baseUrl, 'URL of the API (listener in a process of its own)', ['listener']),
  BERTH_HUB_CA: setting(
    optional,
    'PEM file of the certificates that vouch for an https hub, instead of those that Node trusts',
    ['listener'],
  ),
  BERTH_LISTENER_ID: setting(z.uuid().default(PLATFORM_LISTENER_ID), 'which listener this is', ['listener']),
  BERTH_LISTENER_KEY: secret(optional, 'API key with the scope listeners:run', ['api', 'listener']),
  BERTH_KUBECONFIG: setting(
    optional,
    'kubeconfig; unset: KUBECONFIG, else the pod’s ServiceAccount',
    CLUSTER,
  ),
  BERTH_LISTENER_KUBECONFIG: setting(optional, 'kubeconfig of the listener alone', ['listener']),
  BERTH_OPERATOR_KUBECONFIG: setting(optional, 'kubeconfig of the operator alone', ['operator']),
  KUBECONFIG: setting(optional, 'kubeconfig, as for kubectl', CLUSTER),
  BERTH_NAMESPACE: setting(optional, 'Berth’s own namespace: leases are kept there; in a pod: the pod’s', [
    'operator',
  ]),
  BERTH_NAMESPACES: setting(csv, 'namespaces to work in, comma-separated; unset: all', CLUSTER),
  BERTH_DATABASE_IMAGE: setting(
    z.string().default('docker.io/library/postgres:18'),
    'image of new databases',
    CLUSTER,
  ),
  BERTH_CACHE_IMAGE: setting(z.string().default('docker.io/valkey/valkey:8'), 'image of caches', CLUSTER),
  BERTH_HEALTH_PATH: setting(optional, 'HTTP path of the api probes; unset: TCP', CLUSTER),
  BERTH_PROGRESS_DEADLINE_SECONDS: setting(count(600), 'a rollout that takes longer has failed', CLUSTER),
  BERTH_MIN_READY_SECONDS: setting(
    count(10, 0),
    'a pod is available, and its revision active, once it has been ready for so long; 0: at once',
    CLUSTER,
  ),
  BERTH_ROUTING: setting(
    z.enum(['none', 'ingress', 'gateway']).default('none'),
    'how custom_url is routed',
    CLUSTER,
  ),
  BERTH_ROUTING_CLASS: setting(optional, 'IngressClass, or namespace/name of the Gateway', CLUSTER),
  BERTH_TLS_ISSUER: setting(optional, 'cert-manager ClusterIssuer for routes', CLUSTER),
  BERTH_OTLP_ENDPOINT: setting(
    baseUrl,
    'OTLP endpoint that pods report traces to (docs/tracing.md)',
    CLUSTER,
  ),
  BERTH_OTLP_PROTOCOL: setting(
    z.enum(OTLP_PROTOCOLS).default('http/protobuf'),
    'what that endpoint speaks: http/protobuf, http/json or grpc',
    CLUSTER,
  ),
  BERTH_OTLP_HEADERS_SECRET: setting(
    dnsSubdomainSchema.optional(),
    'Secret in each namespace of deployments whose key OTEL_EXPORTER_OTLP_HEADERS the pods send along',
    CLUSTER,
  ),
  BERTH_TRACING_URL: setting(
    baseUrl,
    'tracing backend that is told of tracing projects over HTTP (docs/tracing.md)',
    HUB,
  ),
  BERTH_TRACING_TOKEN: secret(
    z
      .string()
      .regex(/^[\x21-\x7e]+$/, 'must consist of printable ASCII characters without spaces')
      .optional(),
    'bearer token for that backend',
    HUB,
  ),
  BERTH_STORAGE_CLASS: setting(optional, 'StorageClass of database volumes', CLUSTER),
  BERTH_NETWORK_ISOLATION: setting(
    flag,
    'true: default-deny NetworkPolicy for each app; unset: true in cloud',
    CLUSTER,
  ),
  BERTH_LOG_LEVEL: setting(
    z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
    'least level that is logged',
  ),
} as const satisfies Record<string, Setting>;

type SettingName = keyof typeof SETTINGS;
type Settings = { [Name in SettingName]: z.infer<(typeof SETTINGS)[Name]['schema']> };

/** A setting is missing or wrong: `problems` names each with what to do. A restart without a change does not help. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`failed to read the configuration:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Variables that begin like settings and are none. */
const NO_SETTINGS: readonly RegExp[] = [
  // Of API clients: a shell that has read .berth/demo.env.
  /^BERTH_(URL|API_KEY|TENANT_ID)$/,
  // Of the test suite.
  /^BERTH_TEST_/,
  // Set by Kubernetes in pods for each Service of their namespace.
  /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP)(_\w+)?|API_PORT)$/,
];

const isUnknownSetting = (name: string) =>
  name.startsWith('BERTH_') && !(name in SETTINGS) && !NO_SETTINGS.some((pattern) => pattern.test(name));

function parseSettings(environment: NodeJS.ProcessEnv): Settings {
  const problems: string[] = [];
  const parsed: Record<string, unknown> = {};
  for (const [name, { schema, help }] of Object.entries(SETTINGS)) {
    const result = schema.safeParse(environment[name] === '' ? undefined : environment[name]);
    if (result.success) parsed[name] = result.data;
    else problems.push(`${name}: ${result.error.issues.map((issue) => issue.message).join('; ')} (${help})`);
  }
  for (const name of Object.keys(environment)) {
    if (isUnknownSetting(name)) problems.push(`${name}: no such setting; see berth config --help`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return parsed as Settings;
}

function parseEncryptionKeys(text: string | undefined): { id: string; key: Buffer }[] {
  const keys = (text ?? '')
    .split(',')
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const [id = '', encoded = ''] = part.trim().split(/:(.*)/s);
      const key = Buffer.from(encoded, 'base64');
      if (!/^[A-Za-z0-9_-]{1,32}$/.test(id) || key.length !== 32) {
        throw new ConfigError([
          'BERTH_ENCRYPTION_KEYS: each key is id:base64 of 32 bytes; make one with: echo "k1:$(openssl rand -base64 32)"',
        ]);
      }
      return { id, key };
    });
  const twice = keys.find(({ id }, index) => keys.findIndex((other) => other.id === id) !== index);
  if (twice !== undefined) {
    throw new ConfigError([
      `BERTH_ENCRYPTION_KEYS: the id ${twice.id} is given twice; each key needs its own`,
    ]);
  }
  return keys;
}

function rateOfKeys({ BERTH_RATE_LIMIT: given, BERTH_HOSTING: hosting }: Settings) {
  return parseRate(given ?? DEFAULT_RATES[hosting]);
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
  const podNamespace = existsSync(IN_CLUSTER_NAMESPACE)
    ? readFileSync(IN_CLUSTER_NAMESPACE, 'utf8').trim()
    : null;
  return {
    databaseUrl: settings.DATABASE_URL ?? null,
    allowRlsBypass: settings.BERTH_ALLOW_RLS_BYPASS ?? null,
    databasePool: settings.BERTH_DATABASE_POOL,
    host: settings.BERTH_HOST,
    port: settings.BERTH_PORT,
    metricsPort: settings.BERTH_METRICS_PORT,
    publicUrl: settings.BERTH_PUBLIC_URL ?? null,
    appDomain: settings.BERTH_APP_DOMAIN ?? null,
    hosting: settings.BERTH_HOSTING,
    policyFile: settings.BERTH_POLICY ?? null,
    encryptionKeys: parseEncryptionKeys(settings.BERTH_ENCRYPTION_KEYS),
    lostEncryptionKeys: settings.BERTH_LOST_ENCRYPTION_KEYS,
    bootstrapApiKey: settings.BERTH_BOOTSTRAP_API_KEY ?? null,
    bootstrapTenant: settings.BERTH_BOOTSTRAP_TENANT,
    registry: settings.BERTH_REGISTRY ?? null,
    rateLimits: {
      perKey: rateOfKeys(settings),
      failures: parseRate(settings.BERTH_AUTH_FAILURE_LIMIT),
    },
    trustProxy: settings.BERTH_TRUST_PROXY,
    deletionGraceSeconds: settings.BERTH_DELETION_GRACE,
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
    /** For exec plugins of kubeconfigs, the in-cluster address and the proxy on the way to the hub. */
    clusterEnvironment: environment,
    namespace: settings.BERTH_NAMESPACE ?? podNamespace ?? 'berth-system',
    namespaces: settings.BERTH_NAMESPACES,
    identity: `${hostname()}_${process.pid}_${Date.now().toString(36)}`,
    logLevel: settings.BERTH_LOG_LEVEL,
    rendering: renderingOf(settings),
  };
}

/** The rendering configuration but for the cluster's version, which only the cluster knows. */
function renderingOf(settings: Settings): Omit<RenderConfig, 'kubernetesVersion'> {
  const cloud = settings.BERTH_HOSTING === 'cloud';
  return {
    hosting: settings.BERTH_HOSTING,
    podSecurity: cloud ? 'restricted' : 'baseline',
    databaseImage: settings.BERTH_DATABASE_IMAGE,
    cacheImage: settings.BERTH_CACHE_IMAGE,
    healthPath: settings.BERTH_HEALTH_PATH ?? null,
    progressDeadlineSeconds: settings.BERTH_PROGRESS_DEADLINE_SECONDS,
    minReadySeconds: settings.BERTH_MIN_READY_SECONDS,
    routing: {
      mode: settings.BERTH_ROUTING,
      className: settings.BERTH_ROUTING_CLASS ?? null,
      tlsIssuer: settings.BERTH_TLS_ISSUER ?? null,
    },
    otlpEndpoint: settings.BERTH_OTLP_ENDPOINT ?? null,
    otlpProtocol: settings.BERTH_OTLP_PROTOCOL,
    otlpHeadersSecret: settings.BERTH_OTLP_HEADERS_SECRET ?? null,
    networkIsolation: settings.BERTH_NETWORK_ISOLATION ?? cloud,
    storageClass: settings.BERTH_STORAGE_CLASS ?? null,
  };
}

/** A setting as a reader of help sees it. */
export interface SettingHelp {
  readonly name: string;
  readonly help: string;
  /** null: none, or one that depends on others (the help says so). */
  readonly fallback: string | null;
}

/** The settings that a role reads; without a role, all. */
export function settingHelps(role?: Reader | 'all'): SettingHelp[] {
  return Object.entries(SETTINGS).flatMap(([name, { schema, help, readers }]: [string, Setting]) => {
    if (role !== undefined && role !== 'all' && readers?.includes(role) === false) return [];
    const { data } = schema.safeParse(undefined);
    const isSet = data !== undefined && !(Array.isArray(data) && data.length === 0);
    return [{ name, help, fallback: isSet ? String(data) : null }];
  });
}

/** The settings as lines `NAME=value`, secrets masked; what `berth config` prints. */
export function describeConfig(environment: NodeJS.ProcessEnv = process.env): string[] {
  const settings: Record<string, unknown> = parseSettings(environment);
  return Object.entries(SETTINGS).map(([name, setting]: [string, Setting]) => {
    const value = settings[name];
    if (value === undefined || (Array.isArray(value) && value.length === 0))
      return `# ${name} is not set: ${setting.help}`;
    return `${name}=${setting.secret ? '**********' : String(value)}`;
  });
}

/** Name of the setting that the listener's kubeconfig comes from; where none is set, the one to advise. */
export function listenerKubeconfigSetting(environment: NodeJS.ProcessEnv = process.env): string {
  const settings = ['BERTH_LISTENER_KUBECONFIG', 'BERTH_KUBECONFIG'];
  return settings.find((name) => Boolean(environment[name])) ?? 'KUBECONFIG';
}

/** What API users set, for `berth deployments` and `berth revisions`. Nothing else of the environment is looked at. */
export function clientSettings(environment: NodeJS.ProcessEnv = process.env) {
  const { BERTH_URL: url, BERTH_API_KEY: apiKey, BERTH_TENANT_ID: tenantId } = environment;
  return { url, apiKey, tenantId };
}

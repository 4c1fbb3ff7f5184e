import { RESERVED_ENV_NAMES, TRACING_ENV_NAMES } from '../deployment/reserved.ts';

/**
 * Variables that determine where telemetry is sent and who can read it in transit. If a tenant sets such a variable,
 * the headers of the platform, which are credentials, could reach an endpoint of the tenant.
 */

const ENDPOINTS = 'OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?ENDPOINT';
const UNENCRYPTED = 'OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?INSECURE';
const TRUST = [
  'OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?(?:CERTIFICATE|CLIENT_CERTIFICATE|CLIENT_KEY)',
  'SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED',
  'REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
].join('|');
const PROXIES = '(?:HTTP|HTTPS|ALL|GRPC)_PROXY|(?:http|https|all|grpc)_proxy';

/** The names as a regular expression that RE2 also supports. */
export const EXPORTER_VARIABLE = new RegExp(`^(?:${ENDPOINTS}|${UNENCRYPTED}|${TRUST}|${PROXIES})$`);

const SET_BY_BERTH: ReadonlySet<unknown> = new Set([...RESERVED_ENV_NAMES, ...TRACING_ENV_NAMES]);

/**
 * Whether an init container or sidecar can request a variable of this name from the app container, by an entry without
 * a value. For such variables, a missing value differs from an empty value.
 */
export function mayComeFromApp(name: unknown): boolean {
  return SET_BY_BERTH.has(name) || (typeof name === 'string' && EXPORTER_VARIABLE.test(name));
}

const ENDPOINT = new RegExp(`^(?:${ENDPOINTS})$`);
const INSECURE = new RegExp(`^(?:${UNENCRYPTED})$`);
const OWN_TRUST = new RegExp(`^(?:${TRUST})$`);
const PROXY = new RegExp(`^(?:${PROXIES})$`);

/** Selects the exporter variables that the custom resource must list in addition to OpenTelemetry variables. */
export function exporterVariables(names: readonly string[]): string[] {
  const known: readonly string[] = TRACING_ENV_NAMES;
  const found = names.filter((name) => EXPORTER_VARIABLE.test(name) && !known.includes(name)).toSorted();
  return found.length <= MAX_EXPORTER_VARIABLES ? found : mostRelevant(found);
}

/** Maximum number of names in the custom resource. Each name is also an entry in every pod template. */
export const MAX_EXPORTER_VARIABLES = 64;

/** Matches about 40 names that exporters read. Other names belong to kinds of telemetry that do not exist. */
const IN_USE =
  /^(?!OTEL_)|^OTEL_EXPORTER_OTLP_(?:(?:TRACES|METRICS|LOGS|PROFILES)_)?(?:ENDPOINT|INSECURE|(?:CLIENT_)?CERTIFICATE|CLIENT_KEY)$/;

/**
 * Selects names up to the maximum: one name of each kind (which is sufficient to decide about the headers of the
 * platform), names that exporters read, and some of the others.
 */
function mostRelevant(found: readonly string[]): string[] {
  const ofEachKind = [ENDPOINT, INSECURE, OWN_TRUST].flatMap(
    (kind) => found.find((name) => kind.test(name)) ?? [],
  );
  const order = new Set([...ofEachKind, ...found.filter((name) => IN_USE.test(name)), ...found]);
  return [...order].slice(0, MAX_EXPORTER_VARIABLES).toSorted();
}

/**
 * Whether one of these variables is an endpoint. If a user sets an endpoint, Berth sets no endpoint, protocol and
 * headers of the platform.
 */
export function hasOwnEndpoint(names: readonly string[]): boolean {
  return names.some((name) => ENDPOINT.test(name));
}

/**
 * Whether these variables could expose headers to the endpoint of the platform: by disabling TLS, or by a proxy that can read
 * them, because the endpoint has no TLS or the app trusts other authorities.
 */
export function exposesHeaders(names: readonly string[], endpoint: string): boolean {
  if (names.some((name) => INSECURE.test(name))) return true;
  const isReadable = !endpoint.startsWith('https:') || names.some((name) => OWN_TRUST.test(name));
  return isReadable && names.some((name) => PROXY.test(name));
}

const SIGNALS = ['TRACES', 'METRICS', 'LOGS'] as const;

/** Endpoint of one kind of telemetry, which takes precedence over OTEL_EXPORTER_OTLP_ENDPOINT. */
export type SignalEndpoint = `OTEL_EXPORTER_OTLP_${(typeof SIGNALS)[number]}_ENDPOINT`;

/** The endpoint of each kind of telemetry, as OpenTelemetry derives it from the general endpoint. */
export function signalEndpoints(endpoint: string, protocol: string): readonly [SignalEndpoint, string][] {
  const base = endpoint.replace(/\/+$/, '');
  return SIGNALS.map((signal) => [
    `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`,
    protocol === 'grpc' ? endpoint : `${base}/v1/${signal.toLowerCase()}`,
  ]);
}

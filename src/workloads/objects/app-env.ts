import type { V1EnvVar } from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { contentHash } from '../../domain/core/hash.ts';
import {
  APP_CONTAINER_NAME,
  type RESERVED_ENV_NAMES,
  type TRACING_ENV_NAMES,
} from '../../domain/deployment/reserved.ts';
import type { EnvVar as UserEnvVar } from '../../domain/kubernetes/env.ts';
import type { Component } from '../../domain/resource-spec/components.ts';
import {
  exposesHeaders,
  hasOwnEndpoint,
  type SignalEndpoint,
  signalEndpoints,
} from '../../domain/resource-spec/exporter-variables.ts';
import { EXTERNAL_CACHE, EXTERNAL_DATABASE } from '../../domain/run-settings/external-services.ts';
import { cacheUri } from '../addresses.ts';
import { lacksService, type PerService } from '../data-services.ts';
import type { PodTemplates } from '../desired-object.ts';
import { deploymentId, imageVersion, revisionId } from '../labels.ts';
import { componentName, databaseName } from '../names.ts';
import { appPort, ownVariable, ownVariableNames } from '../run-settings.ts';

type TracingEnvName = (typeof TRACING_ENV_NAMES)[number];
type EnvName = (typeof RESERVED_ENV_NAMES)[number] | TracingEnvName | SignalEndpoint;
type EnvVar = V1EnvVar & { name: EnvName };

/**
 * Escapes `$` as `$$`, because Kubernetes expands `$(NAME)` and `$$` in values. The container then gets the text unchanged.
 */
function literal(text: string): string {
  return text.replaceAll('$', '$$$$');
}

function plain(name: EnvName, value: string | undefined): EnvVar[] {
  return value === undefined ? [] : [{ name, value: literal(value) }];
}

function fromSecret(name: EnvName, secret: string, key: string): EnvVar[] {
  return [{ name, valueFrom: { secretKeyRef: { name: secret, key } } }];
}

/** A value of the env Secret. Without an env Secret (resource applied by hand), the app must set the variable itself. */
function fromEnvSecret(resource: ManagedDeployment, name: EnvName, key: string): EnvVar[] {
  const { envSecretName } = resource.spec.revision;
  return envSecretName === undefined ? [] : fromSecret(name, envSecretName, key);
}

/** The URI of an external service: a variable of the revision, otherwise a key of the env Secret. */
function externalUri(resource: ManagedDeployment, name: EnvName, variable: string): EnvVar[] {
  const own = ownVariable(resource, variable);
  return own === undefined ? fromEnvSecret(resource, name, variable) : [{ name, ...own }];
}

/** The URI of a service and the number of connections. A service that the pods lack has no variables. */
function databaseEnv(resource: ManagedDeployment): EnvVar[] {
  if (lacksService(resource.spec, 'database')) return [];
  const { external, poolSize } = resource.spec.database;
  return [
    ...(external
      ? externalUri(resource, 'DATABASE_URI', EXTERNAL_DATABASE)
      : fromSecret('DATABASE_URI', databaseName(resource), 'uri')),
    ...plain('DATABASE_POOL_SIZE', String(poolSize)),
  ];
}

function cacheEnv(resource: ManagedDeployment): EnvVar[] {
  if (lacksService(resource.spec, 'cache')) return [];
  return resource.spec.cache.external
    ? externalUri(resource, 'CACHE_URI', EXTERNAL_CACHE)
    : plain('CACHE_URI', cacheUri(resource));
}

/** Comma-separated key=value pairs with percent-encoded values, as the OpenTelemetry SDK reads them. */
function otelAttributes(resource: ManagedDeployment, component: Component, config: RenderConfig): string {
  const { spec, metadata } = resource;
  const attributes: Record<string, string | undefined> = {
    'service.namespace': spec.displayName ?? metadata.name,
    'service.version': imageVersion(spec.revision.image ?? ''),
    'k8s.namespace.name': metadata.namespace,
    'k8s.deployment.name': componentName(resource, component),
    'berth.deployment.id': deploymentId(resource),
    'berth.revision.id': revisionId(resource),
    'berth.tenant.id': spec.tenantId,
    'berth.tracing.project': spec.tracing.project,
    // In the tracing backend, all components of a project are one service.
    ...(config.otlpEndpoint === null
      ? {}
      : { 'berth.component': component, 'berth.revision.number': String(spec.revision.number) }),
  };
  return Object.entries(attributes)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
    .join(',');
}

const HEADERS = 'OTEL_EXPORTER_OTLP_HEADERS';

/**
 * Variables of the OTLP endpoint of the platform. The headers of the platform are credentials, so they must not be sent
 * to an endpoint of the user. With headers of the platform, the endpoint of each kind of telemetry is also set, because
 * an image or an undeclared Secret could otherwise set it.
 */
function otlpEnv(resource: ManagedDeployment, config: RenderConfig): EnvVar[] {
  const { tracing } = resource.spec;
  const { otlpEndpoint, otlpProtocol = 'http/protobuf', otlpHeadersSecret: secret } = config;
  const ofSecret = [...(tracing.ownVariables ?? []), ...(tracing.exporterVariables ?? [])];
  const own = [...ofSecret, ...ownVariableNames(resource)];
  if (otlpEndpoint === null || hasOwnEndpoint(own)) return [];
  const sendsHeaders = secret && !own.includes(HEADERS) && !exposesHeaders(own, otlpEndpoint);
  return [
    ...plain('OTEL_EXPORTER_OTLP_ENDPOINT', otlpEndpoint),
    ...plain('OTEL_EXPORTER_OTLP_PROTOCOL', otlpProtocol),
    // In a namespace without this Secret, the app starts without traces.
    ...(sendsHeaders
      ? [
          ...signalEndpoints(otlpEndpoint, otlpProtocol).flatMap(([name, value]) => plain(name, value)),
          {
            name: HEADERS,
            valueFrom: { secretKeyRef: { name: secret, key: HEADERS, optional: true } },
          } as const,
        ]
      : []),
  ];
}

/**
 * OpenTelemetry variables. Variables of the user take precedence. With an endpoint of the platform, the project is the
 * service.
 */
function tracingEnv(resource: ManagedDeployment, component: Component, config: RenderConfig): EnvVar[] {
  const { project, ownVariables = [], exporterVariables = [] } = resource.spec.tracing;
  const fallback = componentName(resource, component);
  const service = config.otlpEndpoint === null ? fallback : (project ?? fallback);
  const ofEnv: ReadonlySet<string> = new Set(ownVariableNames(resource));
  const own: ReadonlySet<string> = new Set(ownVariables);
  return [
    ...[
      ...plain('OTEL_SERVICE_NAME', service),
      ...plain('OTEL_RESOURCE_ATTRIBUTES', otelAttributes(resource, component, config)),
      ...otlpEnv(resource, config),
    ].filter(({ name }) => !own.has(name)),
    ...ownVariables.flatMap((name) => fromEnvSecret(resource, name, name)),
    // Exporter variables are also listed, so that the templates of a revision show which of them its secrets contain.
    ...[...new Set(exporterVariables)]
      .filter((name) => !own.has(name))
      .flatMap((name) => fromEnvSecret(resource, name as EnvName, name)),
  ].filter(({ name }) => !ofEnv.has(name));
}

/**
 * Environment of the app container. The names are reserved, except for OpenTelemetry variables, for which the values of
 * the user take precedence.
 */
export function appEnv(resource: ManagedDeployment, component: Component, config: RenderConfig): EnvVar[] {
  const { spec, metadata } = resource;
  return [
    ...plain('COMPONENT', component),
    ...plain('PORT', String(appPort(resource))),
    ...databaseEnv(resource),
    ...cacheEnv(resource),
    ...plain('DEPLOYMENT_ID', deploymentId(resource)),
    ...plain('DEPLOYMENT_NAME', spec.displayName ?? metadata.name),
    ...plain('REVISION_ID', revisionId(resource)),
    ...plain('TENANT_ID', spec.tenantId),
    ...plain('TRACING_PROJECT', spec.tracing.project),
    ...tracingEnv(resource, component, config),
  ];
}

/** Whether pods of these templates use a database and a cache that Berth runs. */
export function ownServicesOf(resource: ManagedDeployment, templates: PodTemplates): PerService {
  const variables = Object.values(templates)
    .flatMap((template) => template.spec?.containers ?? [])
    .filter(({ name }) => name === APP_CONTAINER_NAME)
    .flatMap(({ env = [] }) => env);
  const own = (name: EnvName, wanted: EnvVar[]) =>
    variables.some((variable) => variable.name === name && contentHash([variable]) === contentHash(wanted));
  return {
    database: own('DATABASE_URI', fromSecret('DATABASE_URI', databaseName(resource), 'uri')),
    cache: own('CACHE_URI', plain('CACHE_URI', cacheUri(resource))),
  };
}

/** Number of database connections of each pod of these templates. null: not known. */
export function poolSizeOf(templates: PodTemplates): number | null {
  const variable = Object.values(templates)
    .flatMap((template) => template.spec?.containers ?? [])
    .filter(({ name }) => name === APP_CONTAINER_NAME)
    .flatMap(({ env = [] }) => env)
    .find(({ name }) => name === ('DATABASE_POOL_SIZE' satisfies EnvName));
  return variable?.value === undefined ? null : Number(variable.value);
}

/**
 * Environment of an init container or sidecar. An entry with the name of a variable of the app container, and without
 * value and valueFrom, gets the value of the app. Therefore an init container with migrations can reach the database,
 * and a log shipper does not get the credentials.
 * @param app variables of Berth in the app container
 * @param own variables of the revision that take the place of variables of Berth
 */
export function requestedEnv(
  env: readonly UserEnvVar[],
  app: readonly V1EnvVar[],
  own: readonly V1EnvVar[] = [],
): V1EnvVar[] {
  const asks = ({ value, valueFrom }: UserEnvVar) => value === undefined && valueFrom === undefined;
  const given = env.filter((entry) => !asks(entry)).map(({ name }) => name);
  const platform = platformExporter(app);
  const isRefused = platform !== null && (hasOwnEndpoint(given) || exposesHeaders(given, platform.endpoint));
  const offered = new Map([...app, ...own].map((variable) => [variable.name, variable]));
  if (isRefused) offered.delete(HEADERS);
  const all = env.map((entry) => (asks(entry) ? (offered.get(entry.name) ?? entry) : entry));
  const isHanded = platform !== null && !isRefused && env.some((each) => each.name === HEADERS && asks(each));
  const missing = isHanded
    ? platform.signals.filter(({ name }) => !env.some((each) => each.name === name))
    : [];
  return [...all, ...missing];
}

/** The endpoints of the platform, if the app also has the headers of the platform; otherwise null. */
function platformExporter(app: readonly V1EnvVar[]): { endpoint: string; signals: V1EnvVar[] } | null {
  const endpoint = app.find(({ name }) => name === 'OTEL_EXPORTER_OTLP_ENDPOINT')?.value;
  const names: ReadonlySet<string> = new Set(signalEndpoints('', '').map(([name]) => name));
  const signals = app.filter(({ name, value }) => names.has(name) && value !== undefined);
  return endpoint === undefined || signals.length === 0 ? null : { endpoint, signals };
}

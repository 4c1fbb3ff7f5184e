import type { V1EnvVar } from '@kubernetes/client-node';
import type { ManagedDeployment } from '../contract/managed-deployment.ts';
import type { RenderConfig } from '../contract/render-config.ts';
import type { EnvVar as UserEnvVar } from '../domain/kubernetes/env.ts';
import type { RESERVED_ENV_NAMES } from '../domain/reserved.ts';
import type { Component } from '../domain/resource-spec.ts';
import { APP_PORT, cacheUri } from './addresses.ts';
import { deploymentId, imageVersion, revisionId } from './labels.ts';
import { componentName, databaseName } from './names.ts';

type EnvName = (typeof RESERVED_ENV_NAMES)[number];
type EnvVar = V1EnvVar & { name: EnvName };

/**
 * Kubernetes expands `$(NAME)` and `$$` in values: every `$` of a text that is not ours is doubled, so that the
 * container sees the text itself.
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

/** Of an external service the URI is in the env Secret; without one (a resource by hand) the app sets it itself. */
function fromEnvSecret(resource: ManagedDeployment, name: EnvName, key: string): EnvVar[] {
  const { envSecretName } = resource.spec.revision;
  return envSecretName === undefined ? [] : fromSecret(name, envSecretName, key);
}

function databaseEnv(resource: ManagedDeployment): EnvVar[] {
  const { external, poolSize } = resource.spec.database;
  return [
    ...(external
      ? fromEnvSecret(resource, 'DATABASE_URI', 'DATABASE_URI_CUSTOM')
      : fromSecret('DATABASE_URI', databaseName(resource), 'uri')),
    ...plain('DATABASE_POOL_SIZE', String(poolSize)),
  ];
}

function cacheEnv(resource: ManagedDeployment): EnvVar[] {
  return resource.spec.cache.external
    ? fromEnvSecret(resource, 'CACHE_URI', 'CACHE_URI_CUSTOM')
    : plain('CACHE_URI', cacheUri(resource));
}

/** Comma-separated key=value pairs; values percent-encoded, as OpenTelemetry's resource SDK reads them. */
function otelAttributes(resource: ManagedDeployment, component: Component): string {
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
  };
  return Object.entries(attributes)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
    .join(',');
}

/** Environment of the app container: the image contract. Names are reserved, so nothing of the user's collides. */
export function appEnv(resource: ManagedDeployment, component: Component, config: RenderConfig): EnvVar[] {
  const { spec, metadata } = resource;
  return [
    ...plain('COMPONENT', component),
    ...plain('PORT', String(APP_PORT)),
    ...databaseEnv(resource),
    ...cacheEnv(resource),
    ...plain('DEPLOYMENT_ID', deploymentId(resource)),
    ...plain('DEPLOYMENT_NAME', spec.displayName ?? metadata.name),
    ...plain('REVISION_ID', revisionId(resource)),
    ...plain('TENANT_ID', spec.tenantId),
    ...plain('TRACING_PROJECT', spec.tracing.project),
    ...plain('OTEL_SERVICE_NAME', componentName(resource, component)),
    ...plain('OTEL_RESOURCE_ATTRIBUTES', otelAttributes(resource, component)),
    ...plain('OTEL_EXPORTER_OTLP_ENDPOINT', config.otlpEndpoint ?? undefined),
  ];
}

/**
 * Environment of a container of the user's. An entry that names one of the app container's variables and says neither
 * value nor valueFrom asks for the app's: so a migrating init container reaches the database, while a log shipper
 * beside it is not handed its credentials.
 */
export function requestedEnv(env: readonly UserEnvVar[], app: readonly V1EnvVar[]): V1EnvVar[] {
  const offered = new Map(app.map((variable) => [variable.name, variable]));
  return env.map((entry) =>
    entry.value === undefined && entry.valueFrom === undefined ? (offered.get(entry.name) ?? entry) : entry,
  );
}

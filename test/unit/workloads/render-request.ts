import type { RenderConfig } from '../../../src/contract/render/render-config.ts';
import { type ResourceInput, toManagedDeployment } from '../../../src/contract/render/to-resource.ts';
import type { ManagedDeployment } from '../../../src/contract/resource/managed-deployment.ts';
import { appName, tenantNamespace } from '../../../src/contract/resource/names.ts';
import type { Deployment, Revision, SourceConfig } from '../../../src/domain/deployment/deployment.ts';
import {
  createRevisionConfigSchema,
  toSourceRevisionConfig,
} from '../../../src/domain/deployment/deployment-bodies.ts';
import { PLATFORM_LISTENER_ID, type Source } from '../../../src/domain/deployment/source.ts';
import type { ResourceSpec } from '../../../src/domain/resource-spec/resource-spec.ts';
import { resourceSpecInputSchema } from '../../../src/domain/resource-spec/resource-spec-input.ts';
import { specRuleIssues } from '../../../src/domain/resource-spec/spec-rules.ts';
import { fromRelease } from '../../../src/domain/run-settings/release-schema.ts';
import type { RunSettings } from '../../../src/domain/run-settings/run-settings.ts';
import {
  fromSecretReferences,
  type SecretReferenceBody,
  secretReferencesBodySchema,
} from '../../../src/domain/run-settings/secret-reference-schema.ts';
import type { DesiredObject, PodTemplates } from '../../../src/workloads/desired-object.ts';
import { desiredObjects } from '../../../src/workloads/desired-objects.ts';
import { databaseCredentials } from '../../../src/workloads/objects/database-credentials.ts';
import { renderTemplates } from '../../../src/workloads/objects/pod-template.ts';

/** The way of a POST body to its objects, without database and cluster: what the golden tests look at. */

/** A POST body, as far as it shapes objects. */
export interface RequestBody {
  name: string;
  source: Source;
  source_config: Partial<Omit<SourceConfig, 'resource_spec'>> & { resource_spec?: unknown };
  source_revision_config: { image_uri?: string | null } & RunSettings;
  secrets: { name: string; value: string }[];
  secret_references?: SecretReferenceBody[];
}

export const DEPLOYMENT_ID = '0198c0de-0000-7000-8000-0000000000d1';
export const TENANT_ID = '0198c0de-0000-7000-8000-0000000000a1';
export const REVISION_ID = '0198c0de-0000-7000-8000-0000000000e1';
const RESOURCE_UID = '11111111-2222-4333-8444-555555555555';
/** In place of the random one. */
export const PASSWORD = 'random/password';
/** Token of the tenant for TXT records of additional hosts. */
const DOMAIN_TOKEN = 'random-token';

export const SELF_HOSTED: RenderConfig = {
  hosting: 'self_hosted',
  podSecurity: 'baseline',
  databaseImage: 'docker.io/library/postgres:18.1',
  cacheImage: 'docker.io/valkey/valkey:9.0.1',
  healthPath: null,
  progressDeadlineSeconds: 600,
  routing: { mode: 'ingress', className: 'nginx', tlsIssuer: null },
  otlpEndpoint: null,
  networkIsolation: false,
  ephemeralStorage: { request: '64Mi', limit: '50Gi' },
  storageClass: null,
  kubernetesVersion: '1.36',
};

export const CLOUD: RenderConfig = {
  ...SELF_HOSTED,
  hosting: 'cloud',
  podSecurity: 'restricted',
  routing: { mode: 'ingress', className: 'nginx', tlsIssuer: 'letsencrypt' },
  networkIsolation: true,
  buildNamespace: 'berth-builds',
};

const ABSENT: SourceConfig = {
  integration_id: null,
  repo_url: null,
  deployment_type: null,
  build_on_push: null,
  custom_url: null,
  resource_spec: null,
  listener_id: null,
  listener_config: null,
  install_command: null,
  build_command: null,
};

const CREATED = new Date('2026-01-01T00:00:00Z');

function parseSpec(request: RequestBody): ResourceSpec {
  const spec = resourceSpecInputSchema.parse(request.source_config.resource_spec ?? {});
  const customDatabase = request.secrets.some(({ name }) => name === 'DATABASE_URI_CUSTOM');
  const deploymentType = request.source_config.deployment_type ?? null;
  const issues = specRuleIssues({ spec, deploymentType, customDatabase });
  if (issues.length > 0) throw new Error(`failed to take the request: ${JSON.stringify(issues)}`);
  return spec;
}

function deploymentOf(request: RequestBody, config: RenderConfig): Deployment {
  return {
    id: DEPLOYMENT_ID,
    tenantId: TENANT_ID,
    name: request.name,
    source: request.source,
    sourceConfig: { ...ABSENT, ...request.source_config, resource_spec: parseSpec(request) },
    generation: 1,
    appName: appName(request.name, DEPLOYMENT_ID),
    namespace: config.hosting === 'cloud' ? tenantNamespace(TENANT_ID) : 'apps',
    listenerId: PLATFORM_LISTENER_ID,
    tracingProjectId: '0198c0de-0000-7000-8000-0000000000b1',
    latestRevisionId: REVISION_ID,
    activeRevisionId: null,
    createdAt: CREATED,
    updatedAt: CREATED,
    deleteRequestedAt: null,
    purgeAfter: null,
    observation: null,
    domainToken: request.source_config.domains === undefined ? null : DOMAIN_TOKEN,
  };
}

function revisionOf({ source_revision_config, secret_references }: RequestBody): Revision {
  const { secretReferences = [], releaseCommand, releaseTimeoutSeconds, ...named } = source_revision_config;
  const sent = { ...named, ...fromRelease({ releaseCommand, releaseTimeoutSeconds } as RunSettings) };
  const references = secret_references ?? fromSecretReferences(secretReferences);
  return {
    id: REVISION_ID,
    deploymentId: DEPLOYMENT_ID,
    number: 1,
    status: 'QUEUED',
    reason: null,
    message: null,
    sourceRevisionConfig: toSourceRevisionConfig(
      createRevisionConfigSchema.parse(sent),
      secretReferencesBodySchema.nullish().parse(references),
    ),
    resolvedImage: null,
    createdAt: CREATED,
    updatedAt: CREATED,
    deployedAt: null,
  };
}

/** The record of a POST body, as the hub hands it to the contract. */
export function recordOf(request: RequestBody, config: RenderConfig): ResourceInput {
  const { source_revision_config: sent } = request;
  return {
    deployment: deploymentOf(request, config),
    revision: sent.image_uri == null ? null : revisionOf(request),
    secretNames: request.secrets.map(({ name }) => name),
    tracingProject: request.name,
  };
}

/** The custom resource of a POST body, as it is in the cluster (with a uid). */
export function resourceOf(request: RequestBody, config: RenderConfig): ManagedDeployment {
  const resource = toManagedDeployment(recordOf(request, config));
  return { ...resource, metadata: { ...resource.metadata, uid: RESOURCE_UID } };
}

/** A rendered request. */
export interface Rendered {
  resource: ManagedDeployment;
  templates: PodTemplates;
  objects: DesiredObject[];
}

/** Renders a POST body up to its objects; the credentials Secret with its data. */
export function render(request: RequestBody, config: RenderConfig): Rendered {
  const resource = resourceOf(request, config);
  const templates = renderTemplates(resource, config);
  const started = Object.keys(templates).length > 0 ? templates : null;
  const objects = desiredObjects(resource, config, { templates: started }).map((desired) =>
    desired.contents === 'database-credentials'
      ? { ...desired, object: databaseCredentials(resource, PASSWORD) }
      : desired,
  );
  return { resource, templates, objects };
}

/** A small request that tests add to. */
export function minimalRequest(spec: object = {}): RequestBody {
  return {
    name: 'Demo',
    source: 'external_image',
    source_config: Object.keys(spec).length === 0 ? {} : { resource_spec: spec },
    source_revision_config: { image_uri: 'registry.example.com/demo:1.2.3' },
    secrets: [],
  };
}

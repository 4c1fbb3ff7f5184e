import type { ApplyWork, PurgeWork, WorkItem } from '../../../contract/protocol/work-protocol.ts';
import type { BuildInput } from '../../../contract/render/build-to-resource.ts';
import { toManagedDeployment } from '../../../contract/render/to-resource.ts';
import type { BuildSpec } from '../../../contract/resource/build.ts';
import { managedDeploymentSpecSchema } from '../../../contract/resource/managed-deployment.ts';
import { envSecretName, pullSecretName, tenantNamespace } from '../../../contract/resource/names.ts';
import { REASONS } from '../../../domain/conditions/conditions.ts';
import type { WorkBlocked } from '../../../domain/conditions/explain-facts.ts';
import { contentHash } from '../../../domain/core/hash.ts';
import type { Revision, Secret } from '../../../domain/deployment/deployment.ts';
import { imageRepository } from '../../../domain/net/image-reference.ts';
import { quotasInForce, type TenantQuotas } from '../../../domain/policy/tenant-quotas.ts';
import type { RegistryAuthority } from '../../registry/authority.ts';
import { openToken, type SealedIntegration } from '../../store/builds/integrations.ts';
import { SecretBoxError } from '../../store/core/errors.ts';
import type { DueApply, DuePurge, DueWork } from '../../store/listeners/listener-work-rows.ts';
import { openSecrets, type SecretBox } from '../../store/secrets/secret-box.ts';
import { buildPushCredential, buildSecret } from '../builds/build-secret.ts';
import type { ApiDeps } from '../core/deps.ts';
import { readableSecrets } from '../deployments/deployment-secrets.ts';

/** A due record of the store as the message that the listener gets. */

/** What else items are made of. */
export interface Rendering {
  readonly box: SecretBox;
  /** The policy's, for tenants without their own. */
  readonly quotas: TenantQuotas;
  /** Of the platform's registry; null: it does not ask the hub who may pull. */
  readonly authority: RegistryAuthority | null;
  /** The platform's registry; null: nothing can be built. */
  readonly registry: string | null;
  readonly now: Date;
}

/** What the API has to make items of. */
export function itemRendering(
  deps: Pick<ApiDeps, 'secretBox' | 'policy' | 'registryAuthority' | 'registry' | 'clock'>,
): Rendering {
  return {
    box: deps.secretBox,
    quotas: deps.policy.tenant_quotas,
    authority: deps.registryAuthority ?? null,
    registry: deps.registry,
    now: deps.clock?.() ?? new Date(),
  };
}

function environment(secrets: readonly Secret[]): Record<string, string> {
  return Object.fromEntries(secrets.map(({ name, value }) => [name, value]));
}

/** What the cluster pulls the deployment's images with: for each source whose images are in its own repository. */
function pullSecret(
  authority: RegistryAuthority | null,
  { deployment }: DueApply,
): Pick<ApplyWork, 'pull_secret'> {
  if (authority === null || deployment.source === 'external_image') return {};
  const credential = authority.credential('pull', deployment, null);
  return {
    pull_secret: {
      name: pullSecretName(deployment.appName),
      docker_config: authority.dockerConfig(credential),
    },
  };
}

/** What the cluster is to build; null: nothing, or there is nowhere for the image to go. */
function buildInput({ registry }: Rendering, { deployment, build }: DueApply): BuildInput | null {
  if (build === null || registry === null) return null;
  return { revision: build.revision, repository: imageRepository(registry, deployment) };
}

/** Says which integration it was: nothing is wrong with the deployment's own secrets. */
class TokenUnreadable extends Error {
  constructor({ id, hostUrl }: SealedIntegration) {
    super(
      `The token of the integration ${id} (${hostUrl}) cannot be decrypted, and what is to be built needs it: PATCH /v2/integrations/${id} with a token mends it.`,
    );
  }
}

/** @throws TokenUnreadable */
function gitToken(box: SecretBox, integration: SealedIntegration): string {
  try {
    return openToken(box, integration);
  } catch (error) {
    throw error instanceof SecretBoxError ? new TokenUnreadable(integration) : error;
  }
}

function buildSecretOf(
  { box, authority, now }: Rendering,
  { deployment, build: due }: DueApply,
  build: BuildSpec | undefined,
): Pick<ApplyWork, 'build_secret'> {
  if (build === undefined) return {};
  const { integration = null } = due ?? {};
  const git = integration === null ? null : { ...integration, token: gitToken(box, integration) };
  return { build_secret: buildSecret(build, git, buildPushCredential(authority, deployment, now)) };
}

/**
 * The revision that the custom resource names, with its secrets. Where those of the wanted one cannot be opened, the one that
 * is being built and will take its place: without an image it starts nothing, and the operator leaves what serves as it is.
 * @throws SecretBoxError when there is neither
 */
function namedRevision(
  { box, registry }: Rendering,
  { revision, secrets, build }: DueApply,
): { revision: Revision | null; secrets: Secret[] } {
  try {
    return { revision, secrets: openSecrets(box, secrets) };
  } catch (error) {
    if (!(error instanceof SecretBoxError) || build === null || registry === null) throw error;
    return { revision: build.revision, secrets: openSecrets(box, build.secrets) };
  }
}

/** Of the revision that serves. Lost here, its Secret is in the cluster, where nothing changes or removes it. */
function activeEnvironment(box: SecretBox, { active }: DueApply) {
  const secrets = active === null ? null : readableSecrets(box, active);
  return active === null || secrets === null ? [] : [{ ...active, data: environment(secrets) }];
}

/** The custom resource of a due record, with the revision that it names. @throws SecretBoxError */
export function dueResource(rendering: Rendering, due: DueApply) {
  const { deployment, active, tracingProject } = due;
  const named = namedRevision(rendering, due);
  const resource = toManagedDeployment({
    deployment,
    revision: named.revision,
    active,
    secretNames: named.secrets.map(({ name }) => name),
    tracingProject,
    repository: rendering.authority?.repositoryOf(deployment) ?? null,
    build: buildInput(rendering, due),
  });
  return { resource, ...named };
}

function applyItem(rendering: Rendering, due: DueApply): ApplyWork {
  const { box, quotas, authority } = rendering;
  const { deployment } = due;
  const { resource, revision, secrets } = dueResource(rendering, due);
  // With every default filled in it stands in the cluster as it is sent: its hash can be compared.
  const spec = managedDeploymentSpecSchema.parse(resource.spec);
  const environments = [
    ...(revision === null ? [] : [{ ...revision, data: environment(secrets) }]),
    ...activeEnvironment(box, due),
  ];
  const ownNamespace = deployment.namespace === tenantNamespace(deployment.tenantId);
  return {
    kind: 'apply',
    deployment_id: deployment.id,
    tenant_id: deployment.tenantId,
    generation: deployment.generation,
    work_version: due.version,
    name: deployment.appName,
    namespace: deployment.namespace,
    ...(ownNamespace ? { tenant_quotas: quotasInForce(quotas, due.tenantQuotas) } : {}),
    create_namespace: ownNamespace,
    labels: resource.metadata.labels ?? {},
    spec,
    spec_hash: contentHash(spec),
    env_secrets: environments
      .filter(({ data }) => Object.keys(data).length > 0)
      .map(({ id, number, data }) => ({
        name: envSecretName(deployment.appName, number),
        revision_number: number,
        revision_id: id,
        data,
      })),
    ...pullSecret(authority, due),
    ...buildSecretOf(rendering, due, spec.build),
    stale_env_secrets: due.staleRevisions.map((number) => envSecretName(deployment.appName, number)),
    stale_env_revisions: due.staleRevisions,
  };
}

function purgeItem(due: DuePurge): PurgeWork {
  return {
    kind: 'purge',
    deployment_id: due.deploymentId,
    tenant_id: due.tenantId,
    generation: due.generation,
    name: due.appName,
    namespace: due.namespace,
    env_secrets: due.revisions.map((number) => envSecretName(due.appName, number)),
    ...(due.keepWorkloads ? { keep_workloads: true } : {}),
  };
}

/**
 * The work item of a due record.
 * @throws what `whyNone` has words for: its secrets, or the token that its build needs, cannot be opened; it breaks the contract
 */
export function toWorkItem(rendering: Rendering, due: DueWork): WorkItem {
  return due.kind === 'apply' ? applyItem(rendering, due) : purgeItem(due);
}

/** The words for what `toWorkItem` threw. An error's own text may quote the record. */
export function whyNone(error: unknown): WorkBlocked {
  if (error instanceof TokenUnreadable) return { reason: 'TokenUnreadable', message: error.message };
  const reason = error instanceof SecretBoxError ? 'SecretsUnreadable' : 'RecordInvalid';
  return { reason, message: REASONS[reason] };
}

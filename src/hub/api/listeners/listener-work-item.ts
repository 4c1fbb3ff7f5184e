import type { ApplyWork, PurgeWork, WorkItem, WorkSpec } from '../../../contract/protocol/work-protocol.ts';
import type { BuildInput } from '../../../contract/render/build-to-resource.ts';
import { toManagedDeployment } from '../../../contract/render/to-resource.ts';
import type { BuildSpec } from '../../../contract/resource/build.ts';
import { formerSpec } from '../../../contract/resource/former-names.ts';
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

/** Converts a due record of the store to the message for the listener. */

/** The other inputs of work items. */
export interface Rendering {
  readonly box: SecretBox;
  /** The allowed registries of the policy, for tenants without their own. */
  readonly quotas: TenantQuotas;
  /** The authority of the platform's registry; null: the registry does not use the hub. */
  readonly authority: RegistryAuthority | null;
  /** The platform's registry; null: the platform builds no images. */
  readonly registry: string | null;
  readonly now: Date;
}

/** The rendering inputs from the dependencies of the API. */
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

/** The pull credentials for images in the deployment's own repository. */
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

/** The requested build; null: no build is requested, or the image has no registry. */
function buildInput({ registry }: Rendering, { deployment, build }: DueApply): BuildInput | null {
  if (build === null || registry === null) return null;
  return { revision: build.revision, repository: imageRepository(registry, deployment) };
}

/** The error names the integration, because the deployment's own secrets can be decrypted. */
class TokenUnreadable extends Error {
  constructor({ id, hostUrl }: SealedIntegration) {
    super(
      `The token of the integration ${id} (${hostUrl}) cannot be decrypted, and a build needs it. To fix the ` +
        `problem, send PATCH /v2/integrations/${id} with a token.`,
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
 * The revision that the custom resource names, with its secrets. If the secrets of the desired revision cannot be
 * decrypted, this is the revision that is being built to replace it. A revision that is being built has no image yet,
 * so the operator starts nothing and does not change the active revision.
 * @throws SecretBoxError when the secrets of neither can be decrypted
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

/**
 * The secrets of the active revision. If the secrets cannot be decrypted, the Secret in the cluster is neither changed
 * nor removed.
 */
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
  // The item contains all defaults, so that the cluster stores the spec as it is sent and its hash can be compared.
  const spec = formerSpec<WorkSpec>(managedDeploymentSpecSchema.parse(resource.spec));
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
    ...(due.removingClaim === null ? {} : { claim_to_remove: due.removingClaim }),
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
    ...(due.domains.length === 0 ? {} : { domains: [...due.domains] }),
    ...(due.keepWorkloads ? { keep_workloads: true } : {}),
  };
}

/**
 * The work item of a due record.
 * @throws errors that `whyNotRendered` describes: secrets or the token of the build cannot be decrypted, or the record
 *   violates the contract
 */
export function toWorkItem(rendering: Rendering, due: DueWork): WorkItem {
  return due.kind === 'apply' ? applyItem(rendering, due) : purgeItem(due);
}

/** Describes an error of `toWorkItem`. The text of the error itself is not used, because it may quote the record. */
export function whyNotRendered(error: unknown): WorkBlocked {
  if (error instanceof TokenUnreadable) return { reason: 'TokenUnreadable', message: error.message };
  const reason = error instanceof SecretBoxError ? 'SecretsUnreadable' : 'RecordInvalid';
  return { reason, message: REASONS[reason] };
}

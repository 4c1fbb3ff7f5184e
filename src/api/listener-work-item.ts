import type { ApplyWork, PurgeWork, WorkItem } from '../contract/listener-protocol.ts';
import { managedDeploymentSpecSchema } from '../contract/managed-deployment.ts';
import { envSecretName, tenantNamespace } from '../contract/names.ts';
import { toManagedDeployment } from '../contract/to-resource.ts';
import type { Secret } from '../domain/deployment.ts';
import { contentHash } from '../domain/hash.ts';
import { quotasInForce, type TenantQuotas } from '../domain/tenant-quotas.ts';
import type { DueApply, DuePurge, DueWork } from '../store/listener-work-rows.ts';
import { openSecrets, type SecretBox } from '../store/secret-box.ts';

/** A due record of the store as the message that the listener gets. */

/** What else items are made of. */
export interface Rendering {
  readonly box: SecretBox;
  /** The policy's, for tenants without their own. */
  readonly quotas: TenantQuotas;
}

function environment(secrets: readonly Secret[]): Record<string, string> {
  return Object.fromEntries(secrets.map(({ name, value }) => [name, value]));
}

function applyItem({ box, quotas }: Rendering, due: DueApply): ApplyWork {
  const { deployment, revision, active, tracingProject } = due;
  const secrets = openSecrets(box, due.secrets);
  const resource = toManagedDeployment({
    deployment,
    revision,
    active,
    secretNames: secrets.map(({ name }) => name),
    tracingProject,
  });
  // With every default filled in it stands in the cluster as it is sent: its hash can be compared.
  const spec = managedDeploymentSpecSchema.parse(resource.spec);
  const environments = [
    ...(revision === null ? [] : [{ ...revision, data: environment(secrets) }]),
    ...(active === null ? [] : [{ ...active, data: environment(openSecrets(box, active.secrets)) }]),
  ];
  const ownNamespace = deployment.namespace === tenantNamespace(deployment.tenantId);
  return {
    kind: 'apply',
    deployment_id: deployment.id,
    tenant_id: deployment.tenantId,
    generation: deployment.generation,
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
    stale_env_secrets: due.staleRevisions.map((number) => envSecretName(deployment.appName, number)),
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
  };
}

/**
 * The work item of a due record.
 * @throws SecretBoxError when its secrets cannot be opened; ZodError when the record breaks the contract
 */
export function toWorkItem(rendering: Rendering, due: DueWork): WorkItem {
  return due.kind === 'apply' ? applyItem(rendering, due) : purgeItem(due);
}

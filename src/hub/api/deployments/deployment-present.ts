import { domainsOf } from '../../../domain/app-hosts/domains.ts';
import type { Secret, SourceConfig } from '../../../domain/deployment/deployment.ts';
import { podSettingsOf } from '../../../domain/pod-settings/pod-settings.ts';
import { maskSecrets } from '../../../domain/redaction/secret-list.ts';
import { effectiveSpec } from '../../../domain/resource-spec/effective-spec.ts';
import type { EffectiveResourceSpec } from '../../../domain/resource-spec/effective-spec-schema.ts';
import { RESOURCE_SPEC_FIELDS, type ResourceSpec } from '../../../domain/resource-spec/resource-spec.ts';
import { withCommandComponents } from '../../../domain/run-settings/command-components.ts';
import { schedulesOf } from '../../../domain/schedules/schedules.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import type { SecretBox } from '../../store/secrets/secret-box.ts';
import { shownDomains } from '../domains/domains-status.ts';
import { presentRevisionConfig, presentSecretReferences } from '../revisions/run-settings-response.ts';
import { removedSince, secretsUnreadable, shownConditions } from './deployment-conditions.ts';
import type { ShownDeployment, ShownResourceSpec } from './deployment-schema.ts';
import { readableSecrets } from './deployment-secrets.ts';

/** Converts records of the store to responses of the API. */

const UNSET: Readonly<Record<string, null>> = Object.fromEntries(
  RESOURCE_SPEC_FIELDS.map((field) => [field, null]),
);

/** resource_spec with every field, in the order of the contract. Unset fields are null. */
export function shownResourceSpec(spec: ResourceSpec): ShownResourceSpec {
  // A list calls this function for each of a hundred deployments. For speed, the function copies a template of all
  // fields, then sets the few fields that have values.
  const shown: Record<string, unknown> = { ...UNSET };
  for (const [field, value] of Object.entries(spec)) {
    if (Object.hasOwn(UNSET, field)) shown[field] = value ?? null;
  }
  return shown as ShownResourceSpec;
}

/** Fields in the order of the contract, because the database does not keep an order. */
function shownSourceConfig(config: SourceConfig): ShownDeployment['source_config'] {
  const { resource_spec: spec, listener_config: listener } = config;
  return {
    integration_id: config.integration_id,
    repo_url: config.repo_url,
    deployment_type: config.deployment_type,
    build_on_push: config.build_on_push,
    custom_url: config.custom_url,
    resource_spec: spec === null ? null : shownResourceSpec(spec),
    listener_id: config.listener_id,
    listener_config: listener === null ? null : { cluster_namespace: listener.cluster_namespace },
    install_command: config.install_command,
    build_command: config.build_command,
    ...domainsOf(config),
    ...schedulesOf(config),
    ...podSettingsOf(config),
  };
}

/** The effective resource_spec, with the components that the commands of the latest revision create. */
function shownEffectiveSpec({ sourceConfig, sourceRevisionConfig }: DeploymentRecord): EffectiveResourceSpec {
  const { resource_spec, deployment_type, default_ceilings } = withCommandComponents(
    sourceConfig,
    sourceRevisionConfig,
  );
  return effectiveSpec(resource_spec ?? {}, deployment_type, default_ceilings);
}

export interface PresentOptions {
  readonly box: SecretBox;
  /** Whether the values of secrets are returned; otherwise they are masked. */
  readonly showSecrets: boolean;
  /** The plaintext secrets, if the caller has them, so that they need not be decrypted. */
  readonly secrets?: readonly Secret[];
  /** Absent: the current time. */
  readonly now?: Date;
}

/** The author of the current generation; null: not known. */
function shownAuthor({ updatedBy, generation }: DeploymentRecord): ShownDeployment['updated_by'] {
  if (updatedBy == null || updatedBy.generation !== generation) return null;
  const { kind, id, name } = updatedBy;
  return { kind, id, name };
}

/**
 * A deployment in a response. If the secrets of the deployment cannot be decrypted, the list of secrets is empty and a
 * condition states this.
 */
export function presentDeployment(record: DeploymentRecord, options: PresentOptions): ShownDeployment {
  const stored = options.secrets === undefined ? readableSecrets(options.box, record) : [...options.secrets];
  const secrets = stored ?? [];
  const { observation } = record;
  const { now = new Date() } = options;
  return {
    id: record.id,
    tenant_id: record.tenantId,
    name: record.name,
    source: record.source,
    source_config: shownSourceConfig(record.sourceConfig),
    source_revision_config: presentRevisionConfig(record.sourceRevisionConfig),
    secrets: options.showSecrets ? secrets : maskSecrets(secrets),
    ...presentSecretReferences(record.sourceRevisionConfig),
    created_at: record.createdAt.toISOString(),
    updated_at: record.updatedAt.toISOString(),
    updated_by: shownAuthor(record),
    status: record.status,
    latest_revision_id: record.latestRevisionId,
    active_revision_id: record.activeRevisionId,
    image_version: record.imageVersion,
    generation: record.generation,
    observed_generation: observation?.generation ?? 0,
    remote_reconciled: observation?.generation === record.generation,
    last_observed_at: observation?.observedAt.toISOString() ?? null,
    conditions: [...shownConditions(record, now), ...(stored === null ? [secretsUnreadable(record)] : [])],
    // During a deletion, the route is removed first, so the old URL no longer works.
    url: removedSince(record, now) === null ? (observation?.url ?? null) : null,
    ...shownDomains(record, now),
    tracing_project_id: record.tracingProjectId,
    effective_resource_spec: shownEffectiveSpec(record),
  };
}

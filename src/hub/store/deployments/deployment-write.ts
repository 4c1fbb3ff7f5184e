import type { EventReason } from '../../../domain/conditions/event-reasons.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { SourceConfig, SourceRevisionConfig } from '../../../domain/deployment/deployment.ts';
import type { QuotaUsage } from '../../../domain/policy/quota-usage.ts';
import { type Actor, actorColumns } from '../core/events.ts';
import type { NewRevision, SealedSecrets } from '../core/records.ts';
import type { WrittenDeployment } from '../sql/deployments/insert-deployment.ts';
import type { TailParameters } from '../sql/deployments/write-tail.ts';

/** Code that the statements of POST and of changes share, which write a desired state. */

/** Host of custom_url in lower case; null: the deployment has no custom_url. */
export function routeHost(sourceConfig: SourceConfig): string | null {
  return sourceConfig.custom_url !== null && URL.canParse(sourceConfig.custom_url)
    ? new URL(sourceConfig.custom_url).host
    : null;
}

/** All hosts that a deployment uses: that of custom_url, and its additional hosts. */
export function hostsOf(sourceConfig: SourceConfig): string[] {
  const host = routeHost(sourceConfig);
  return [...(host === null ? [] : [host]), ...(sourceConfig.domains ?? [])];
}

/** The content of the event. */
export interface WriteEvent {
  readonly actor: Actor;
  readonly reason: EventReason;
  readonly message: string;
  readonly details?: Record<string, unknown> | undefined;
}

/**
 * Values of WRITE_TAIL.
 * @param secrets a new set; null: secrets_id of the row names an existing set, or no set
 */
export function tailValues(
  secrets: SealedSecrets | null,
  revision: NewRevision | null,
  { actor, reason, message, details = {} }: WriteEvent,
): TailParameters {
  return {
    setId: secrets?.id ?? null,
    setKeyId: secrets?.keyId ?? null,
    setSealed: secrets?.sealed ?? null,
    revisionId: revision?.id ?? null,
    revisionStatus: revision?.status ?? null,
    revisionReason: revision?.reason ?? null,
    revisionMessage: revision?.message ?? null,
    resolvedImage: revision?.resolvedImage ?? null,
    eventId: uuidv7(),
    ...actorColumns(actor),
    eventReason: reason,
    eventMessage: message,
    eventDetails: JSON.stringify(details),
  };
}

/** Values of the columns that a creation and a change write. `usage`: absent if it is measured on demand. */
export function writtenValues(written: {
  readonly sourceConfig: SourceConfig;
  readonly sourceRevisionConfig: SourceRevisionConfig;
  readonly imageVersion: string | null;
  readonly usage?: QuotaUsage | undefined;
}): Omit<WrittenDeployment, 'tenantId' | 'deploymentId'> {
  const { sourceConfig, sourceRevisionConfig, imageVersion, usage } = written;
  return {
    sourceConfig: JSON.stringify(sourceConfig),
    sourceRevisionConfig: JSON.stringify(sourceRevisionConfig),
    deploymentType: sourceConfig.deployment_type,
    routeHost: routeHost(sourceConfig),
    imageVersion,
    quotaCpuM: usage?.cpuM ?? null,
    quotaMemoryMb: usage?.memoryMb ?? null,
    quotaStorageGi: usage?.storageGi ?? null,
    quotaGpus: usage === undefined ? null : (usage.gpus ?? 0),
  };
}

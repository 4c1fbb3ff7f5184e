import type { InventoryRequest, ObservedReport, Report } from '../../../contract/protocol/report-protocol.ts';
import type { DomainsReport } from '../../../domain/app-hosts/domain-status.ts';
import type { FailureSource } from '../../../domain/conditions/failure-source.ts';
import type { BuildReport, ClusterReport } from '../../../domain/deployment/cluster-report.ts';
import type { Procfile } from '../../../domain/run-settings/procfile.ts';
import type { InventoryEntry } from '../../store/listeners/listener-inventory.ts';

/** Converts messages of a listener to types of the domain and the store. */

/** Removes NUL and unpaired surrogates, which PostgreSQL does not store. */
export function clean(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed();
}

type FailureOfReport = NonNullable<ObservedReport['in_place_failure']>;

/** Listeners of the previous version send the source as `culprit`. */
function toFailure<Failure extends FailureOfReport>({
  message,
  culprit,
  failure_source: source = culprit,
  ...failure
}: Failure) {
  const failureSource = source === undefined ? {} : { failureSource: cleanFailureSource(source) };
  return { ...failure, message: clean(message), ...failureSource };
}

function cleanFailureSource(failureSource: FailureSource): FailureSource {
  const cleaned = Object.entries(failureSource).map(([key, value]) => [
    key,
    typeof value === 'string' ? clean(value) : value,
  ]);
  return Object.fromEntries(cleaned) as FailureSource;
}

function cleanProcfile(procfile: Procfile): Procfile {
  const lines = Object.entries(procfile).map(([type, line]) => [type, clean(line)]);
  return Object.fromEntries(lines.filter(([, line]) => line !== ''));
}

function toBuild(build: ObservedReport['build']): BuildReport | null {
  const { revisionId, message, procfile } = build ?? {};
  if (!build || revisionId === undefined) return null;
  return {
    ...build,
    revisionId,
    ...(message === undefined ? {} : { message: clean(message) }),
    ...(procfile === undefined ? {} : { procfile: cleanProcfile(procfile) }),
  };
}

function toDomains(domains: ObservedReport['domains']): DomainsReport | null {
  if (domains === undefined) return null;
  const hosts = domains.hosts.map(({ message, ...host }) => ({
    ...host,
    host: clean(host.host),
    ...(message === undefined ? {} : { message: clean(message) }),
  }));
  return { generation: domains.generation, hosts };
}

/** Converts a report of a listener to the types of the domain. */
export function toClusterReport(report: Report): ClusterReport {
  switch (report.kind) {
    case 'applied':
      return {
        kind: 'applied',
        deploymentId: report.deployment_id,
        generation: report.generation,
        workVersion: report.work_version,
        goneEnvironments: report.gone_env_revisions ?? [],
      };
    case 'purged':
      return { kind: 'purged', deploymentId: report.deployment_id };
    case 'refused':
      return {
        kind: 'refused',
        deploymentId: report.deployment_id,
        generation: report.generation,
        reason: report.reason,
        message: clean(report.message),
        retryable: report.retryable,
        waiting: report.waiting ?? false,
      };
    case 'observed': {
      const { failed_revision: failed, in_place_failure: inPlace = null } = report;
      return {
        kind: 'observed',
        deploymentId: report.deployment_id,
        name: report.name,
        namespace: report.namespace,
        specGeneration: report.observed_spec_generation,
        conditions: report.conditions.map((condition) => ({
          ...condition,
          message: clean(condition.message),
        })),
        off: report.off,
        url: report.url === null ? null : clean(report.url),
        routes: report.routes ?? null,
        domains: toDomains(report.domains),
        active: report.active_revision,
        rollout: report.rollout_revision,
        failed: failed === null ? null : toFailure(failed),
        inPlaceFailure: inPlace === null ? null : toFailure(inPlace),
        symptoms: (report.symptoms ?? []).map((symptom) => ({
          ...toFailure(symptom),
          component: clean(symptom.component),
        })),
        volumeGi: report.volume_gi ?? null,
        build: toBuild(report.build),
        images: (report.images ?? []).map(({ id, image }) => ({ revisionId: id, image: clean(image) })),
      };
    }
  }
}

/** Converts an item of an inventory to the types of the store. */
export function toInventoryEntry(item: InventoryRequest['items'][number]): InventoryEntry {
  return {
    deploymentId: item.deployment_id,
    name: clean(item.name),
    namespace: clean(item.namespace),
    present: item.uid !== null,
    generation: item.generation,
    specHash: item.spec_hash,
    edited: item.applied_hash !== item.spec_hash,
  };
}

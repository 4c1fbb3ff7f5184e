import type { ResourceFailureSource } from '../../../contract/resource/resource-failure-source.ts';
import { type Condition, isAnswering, type Reason } from '../../../domain/conditions/conditions.ts';
import { isHoldReason } from '../../../domain/deployment/deletion-hold.ts';
import { cacheName, databaseName } from '../../../workloads/names.ts';
import { cacheState, databaseState, type ServiceState } from '../observe/data-services.ts';
import { liveChild, type Observed } from '../observed.ts';
import { troubleOf } from '../pods/pod-trouble.ts';
import { workloadState } from '../pods/workload-state.ts';
import { reasonOfTrouble } from '../rollout/judge-rollout.ts';
import { detailOf, failureSourceOf } from '../rollout/symptoms.ts';
import { conditionOf } from './conditions.ts';

export type DataService = 'database' | 'cache';
export const DATA_SERVICES: readonly DataService[] = ['database', 'cache'];

/** Whether this is the database or the cache, not a component of the app. */
export function isDataService(component: string): component is DataService {
  return DATA_SERVICES.some((service) => service === component);
}

/** The condition of each data service, and its reasons before and after the service was ready. */
export const SERVICE_REASONS = {
  database: { type: 'DatabaseReady', starting: 'DatabaseStarting', lost: 'DatabaseUnavailable' },
  cache: { type: 'CacheReady', starting: 'CacheStarting', lost: 'CacheUnavailable' },
} as const;

/** Why database or cache does not become ready. */
export interface ServiceTrouble {
  /** Reason, if the user can act on it; null: the service only needs time. */
  readonly reason: Reason | null;
  /** Message of the cluster. */
  readonly message: string;
  /** Source of the failure. */
  readonly failureSource: ResourceFailureSource;
}

/** Kind and name of the workload of a data service. */
export function serviceWorkload(
  resource: Observed['resource'],
  service: 'database' | 'cache',
): readonly ['StatefulSet' | 'Deployment', string] {
  return service === 'database'
    ? ['StatefulSet', databaseName(resource)]
    : ['Deployment', cacheName(resource)];
}

/**
 * Why a data service is not ready, from the conditions of its workload, its warning Events or its pod; null: unknown.
 */
export function serviceTrouble(observed: Observed, service: 'database' | 'cache'): ServiceTrouble | null {
  const [kind, name] = serviceWorkload(observed.resource, service);
  const workload = liveChild(observed, kind, name);
  const refusal = workload === undefined ? null : workloadState(workload).refusal;
  const event = observed.warnings?.get(workload?.metadata.uid ?? '');
  const refused = refusal ?? (event === undefined ? null : `${event.reason}: ${event.message}`);
  if (refused !== null) {
    const isRefusal = refusal !== null || event?.reason === 'FailedCreate';
    const reason = isRefusal ? reasonOfTrouble({ reason: 'ReplicaFailure', text: refused }) : null;
    const failureSource = { component: service, kind, object: name, ...detailOf(refused) };
    return { reason, message: refused, failureSource };
  }
  const trouble = troubleOf(observed, service);
  if (trouble === undefined) return null;
  const { message, detail: text = '', restarts, exitCode } = trouble;
  // A pod that waits for its volume does not lack resources of a node.
  const reason = UNBOUND.test(text)
    ? null
    : reasonOfTrouble({
        reason: trouble.reason,
        text,
        restarts,
        ...(exitCode === undefined ? {} : { exitCode }),
      });
  return { reason, message, failureSource: failureSourceOf(service, trouble) };
}

const UNBOUND = /unbound (?:immediate )?PersistentVolumeClaims|persistentvolumeclaim "[^"]*" not found/i;

/** States that data services are not ready, and the first known reason. */
export function lackOfServices(
  observed: Observed,
  services: readonly ('database' | 'cache')[],
): { reason: Reason | null; message: string } {
  const troubles = services.map((service) => {
    const [kind, name] = serviceWorkload(observed.resource, service);
    const missing =
      liveChild(observed, kind, name) === undefined ? `its ${kind} ${name} does not exist yet` : null;
    const trouble = serviceTrouble(observed, service);
    const why = trouble?.message ?? missing;
    const message = `the ${service} is not ready yet${why === null ? '' : `: ${why}`}`;
    return { reason: trouble?.reason ?? null, message };
  });
  return {
    reason: troubles.find(({ reason }) => reason !== null)?.reason ?? null,
    message: troubles.map(({ message }) => message).join('; '),
  };
}

/** State of a data service. */
export function serviceState(observed: Observed, service: 'database' | 'cache'): ServiceState {
  return service === 'database' ? databaseState(observed) : cacheState(observed);
}

/** Whether an unready data service was ready before and is not being changed. */
export function isServiceLost(
  observed: Observed,
  service: 'database' | 'cache',
  { updating }: ServiceState,
): boolean {
  return hasAnswered(observed, service) && !updating;
}

/** Reasons of a service that Berth does not run. */
const OMITTED_REASONS: ReadonlySet<string> = new Set<Reason>([
  'ExternalDatabase',
  'ExternalCache',
  'DatabaseDisabled',
  'CacheDisabled',
]);

/** Whether the service was ready since its last start, read from the status. */
function hasAnswered({ resource }: Observed, service: 'database' | 'cache'): boolean {
  const { type, lost } = SERVICE_REASONS[service];
  const before = conditionOf(resource, type);
  if (before === undefined || OMITTED_REASONS.has(before.reason)) return false;
  return isAnswering(before) || before.reason === lost || wasLeaving(before);
}

/** Whether the workload of the service was being deleted while its pod was still ready; see serviceLeaving. */
function wasLeaving({ status, reason }: Condition): boolean {
  return status === 'Unknown' && (isHoldReason(reason) || reason === ('Reconciling' satisfies Reason));
}

import type { Reason } from '../domain/conditions.ts';
import { cacheName, databaseName } from '../workloads/names.ts';
import { reasonOfTrouble } from './judge-rollout.ts';
import { liveChild, type Observed } from './observed.ts';
import { troubleOf } from './pod-trouble.ts';
import { workloadState } from './workload-state.ts';

/** What keeps database or cache from becoming ready. */
export interface ServiceTrouble {
  /** What it is called, where somebody can see to it; null: it merely takes its time. */
  readonly reason: Reason | null;
  /** As the cluster tells it. */
  readonly message: string;
}

/** Kind and name of what runs a data service. */
export function serviceWorkload(
  resource: Observed['resource'],
  service: 'database' | 'cache',
): readonly ['StatefulSet' | 'Deployment', string] {
  return service === 'database'
    ? ['StatefulSet', databaseName(resource)]
    : ['Deployment', cacheName(resource)];
}

/** Why a data service is not ready: its controller's word, else what Events or its pod tell; null: nothing is known. */
export function serviceTrouble(observed: Observed, service: 'database' | 'cache'): ServiceTrouble | null {
  const [kind, name] = serviceWorkload(observed.resource, service);
  const workload = liveChild(observed, kind, name);
  const refusal = workload === undefined ? null : workloadState(workload).refusal;
  const told = observed.tellings?.get(workload?.metadata.uid ?? '');
  const refused = refusal ?? (told === undefined ? null : `${told.reason}: ${told.message}`);
  if (refused !== null) {
    const isRefusal = refusal !== null || told?.reason === 'FailedCreate';
    const reason = isRefusal ? reasonOfTrouble({ reason: 'ReplicaFailure', text: refused }) : null;
    return { reason, message: refused };
  }
  const trouble = troubleOf(observed, service);
  if (trouble === undefined) return null;
  const { message, detail: text = '', restarts, exitCode } = trouble;
  // A volume that is being made is no lack of room.
  const reason = UNBOUND.test(text)
    ? null
    : reasonOfTrouble({
        reason: trouble.reason,
        text,
        restarts,
        ...(exitCode === undefined ? {} : { exitCode }),
      });
  return { reason, message };
}

const UNBOUND = /unbound (?:immediate )?PersistentVolumeClaims|persistentvolumeclaim "[^"]*" not found/i;

/** That data services do not answer yet, and what keeps the first of them, where that has a name. */
export function lackOfServices(
  observed: Observed,
  services: readonly ('database' | 'cache')[],
): { reason: Reason | null; message: string } {
  const troubles = services.map((service) => {
    const [kind, name] = serviceWorkload(observed.resource, service);
    const missing =
      liveChild(observed, kind, name) === undefined ? `its ${kind} ${name} is not there yet` : null;
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

import type { LogRequest } from '../../../contract/protocol/log-protocol.ts';
import { LABELS } from '../../../contract/resource/names.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import {
  LOGGED_COMPONENTS,
  type LoggedComponent,
  type WorkloadLogLine,
} from '../../../domain/core/log-query.ts';
import type { KubeObject } from '../../kube/client/object.ts';

/** Pods of a deployment, as far as their logs are concerned. Pure. */

interface State {
  readonly running?: object;
  readonly terminated?: object;
}

interface ContainerStatus {
  readonly name: string;
  readonly restartCount?: number;
  readonly state?: State;
  /** Of the run before. */
  readonly lastState?: State;
}

export interface WorkloadPod extends KubeObject {
  readonly status?: {
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

/** One run of a container: after a restart it is another one, with a log of its own. */
export interface LoggedContainer {
  readonly key: string;
  readonly pod: { readonly namespace: string; readonly name: string };
  readonly hasEnded: boolean;
  /** What its lines carry. */
  readonly source: Omit<WorkloadLogLine, 'at' | 'text'>;
}

/** Selects the pods that a request is about. */
export function podSelector({ deployment_id: id, query }: LogRequest): string {
  const { component, revision_id: revision } = query;
  return [
    `${LABELS.deploymentId}=${id}`,
    component === undefined
      ? `${LABELS.component} in (${LOGGED_COMPONENTS.join(',')})`
      : `${LABELS.component}=${component}`,
    ...(revision === undefined ? [] : [`${LABELS.revisionId}=${revision}`]),
  ].join(',');
}

function componentOf({ metadata }: WorkloadPod): LoggedComponent | undefined {
  return LOGGED_COMPONENTS.find((name) => name === metadata.labels?.[LABELS.component]);
}

/**
 * The containers of a pod that have a log, init containers first.
 * @param previous those with a run before the present one, and that run
 */
export function loggedContainers(pod: WorkloadPod, previous = false): LoggedContainer[] {
  const component = componentOf(pod);
  const { name, namespace = '', uid = '', labels = {} } = pod.metadata;
  if (component === undefined) return [];
  const revision = labels[LABELS.revisionId] ?? '';
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const hasBegun = ({ state, restartCount = 0 }: ContainerStatus) =>
    restartCount > 0 || state?.running || state?.terminated;
  return statuses
    .filter((status) => (previous ? status.lastState?.terminated : hasBegun(status)))
    .map(({ name: container, restartCount = 0, state }) => ({
      key: `${uid}/${container}/${restartCount}`,
      pod: { namespace, name },
      // One that waits to be started again is not over, but has nothing more to say as it is.
      hasEnded: previous || state?.running === undefined,
      source: {
        component,
        pod: name,
        container,
        ...(UUID_PATTERN.test(revision) ? { revision_id: revision } : {}),
      },
    }));
}

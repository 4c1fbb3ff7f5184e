import type { LogRequest } from '../../../contract/protocol/log-protocol.ts';
import { LABELS } from '../../../contract/resource/names.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import { LOGGED_COMPONENTS, type WorkloadLogLine } from '../../../domain/core/log-query.ts';
import { TASK_COMPONENT } from '../../../workloads/labels.ts';
import type { KubeObject } from '../../kube/client/object.ts';

/** The fields of the pods of a deployment that are needed to read their logs. Pure. */

interface State {
  readonly running?: object;
  readonly terminated?: object;
}

interface ContainerStatus {
  readonly name: string;
  readonly restartCount?: number;
  readonly state?: State;
  /** State of the previous run of the container. */
  readonly lastState?: State;
}

export interface WorkloadPod extends KubeObject {
  readonly status?: {
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

/** A pod with the fields above only. */
export const statusOnly = ({ apiVersion, kind, metadata, status }: WorkloadPod): WorkloadPod => ({
  apiVersion,
  kind,
  metadata: {
    name: metadata.name,
    namespace: metadata.namespace,
    uid: metadata.uid,
    labels: metadata.labels,
  },
  status: {
    initContainerStatuses: status?.initContainerStatuses,
    containerStatuses: status?.containerStatuses,
  },
});

/** One run of a container. A restart begins a new run with a separate log. */
export interface LoggedContainer {
  readonly key: string;
  readonly pod: { readonly namespace: string; readonly name: string };
  readonly hasEnded: boolean;
  /** The fields of each line of the log. */
  readonly source: Omit<WorkloadLogLine, 'at' | 'text'>;
}

/** Label of a pod: the name of its Job. */
const JOB_NAME_LABEL = 'batch.kubernetes.io/job-name';

/** Selects the pods of a request. */
export function podSelector({ deployment_id: id, query }: LogRequest): string {
  const { component, revision_id: revision, task_uid: task, task_job: job } = query;
  if (task !== undefined) {
    const pod = job === undefined ? `${LABELS.taskUid}=${task}` : `${JOB_NAME_LABEL}=${job}`;
    return `${LABELS.deploymentId}=${id},${LABELS.component}=${TASK_COMPONENT},${pod}`;
  }
  return [
    `${LABELS.deploymentId}=${id}`,
    component === undefined
      ? `${LABELS.component} in (${LOGGED_COMPONENTS.join(',')})`
      : `${LABELS.component}=${component}`,
    ...(revision === undefined ? [] : [`${LABELS.revisionId}=${revision}`]),
  ].join(',');
}

function componentOf({ metadata }: WorkloadPod): WorkloadLogLine['component'] | undefined {
  if (metadata.labels?.[LABELS.component] === TASK_COMPONENT) return TASK_COMPONENT;
  return LOGGED_COMPONENTS.find((name) => name === metadata.labels?.[LABELS.component]);
}

/**
 * The containers of a pod that have a log, init containers first.
 * @param previous returns the previous runs of restarted containers
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
      // A container that waits for its restart is not finished, but its current log is complete.
      hasEnded: previous || state?.running === undefined,
      source: {
        component,
        pod: name,
        container,
        ...(UUID_PATTERN.test(revision) ? { revision_id: revision } : {}),
      },
    }));
}

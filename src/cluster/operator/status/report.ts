import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { isKubeError, type KubeError } from '../../kube/client/errors.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { serviceFailures } from '../access/service-spec-policy.ts';
import type { Acted } from '../act/act.ts';
import { changeFailures } from '../act/learn-responses.ts';
import type { Action } from '../action.ts';
import type { Decision } from '../decide/decide.ts';
import type { Decided } from '../decide/decide-on-live-state.ts';
import type { Remembered } from '../memory.ts';
import type { Failure } from '../observe/failure.ts';
import { namesAfterWrite } from '../observe/stored-names.ts';
import type { Observed, ObservedResource } from '../observed.ts';
import type { ReconcileContext } from '../reconcile-context.ts';
import type { Reported } from '../requeue.ts';
import { failedByRefusal } from '../rollout/refused-rollout.ts';
import { reportStatus } from './report-status.ts';
import { deriveStatus } from './status.ts';

/** Number of consecutive failed calls before the status reports an error. */
const ERRORS_BEFORE_REPORTING = 3;

/** The report at the end of a reconcile. */
export interface Report {
  /** The decision, without completed actions. */
  readonly decision: Decision;
  /** The status that was written or will be written. */
  readonly status: ManagedDeploymentStatus;
  readonly reported: Reported;
}

/** Reports the status after the actions. */
export async function report(
  { observed, decision, now }: Decided,
  acted: Acted,
  context: ReconcileContext,
): Promise<Report> {
  const { options, remembered } = context;
  const failures = [
    ...namespaceTerminating(acted, observed.resource),
    ...acted.failures,
    ...changeFailures(observed),
    ...serviceFailures(observed),
    ...lastingError(acted.error, remembered),
  ];
  const remaining = failedByRefusal(acted.failures, without(decision, acted.done), observed);
  const status = deriveStatus({ observed, decision: remaining, failures, config: options.config, now });
  const reported = await write(observed, status, context, acted.error !== undefined).catch(
    unlessNamespaceTerminating(acted),
  );
  recordSpan(observed.resource, now, { acted, reported }, context);
  return { decision: remaining, status, reported };
}

/**
 * Whether a rollout is about to begin that the status does not name yet. The status names the rollout before any
 * workload changes, so that a crash between two calls, or a later change of the spec, does not lose the information
 * about what was rolled out.
 */
export function isUnannounced({ observed: { resource }, decision: { target, startedAt } }: Decided): boolean {
  return startedAt !== null && resource.status?.rollout?.templates !== target.name;
}

/**
 * Writes the name of a new rollout to the status.
 * @returns the observed state with the written status; null: the custom resource has changed since it was read
 */
export async function announceRollout(
  { observed, decision, now }: Decided,
  context: ReconcileContext,
): Promise<Observed | null> {
  const failures = [...changeFailures(observed), ...serviceFailures(observed)];
  const status = deriveStatus({ observed, decision, failures, config: context.options.config, now });
  const { written } = await write(observed, status, context);
  if (written === undefined) return null;
  return { ...observed, resource: withStatus(observed.resource, status, written) };
}

async function write(
  { resource }: Observed,
  status: ManagedDeploymentStatus,
  { options, remembered, orphanGuard, signal }: ReconcileContext,
  atOnce = false,
): Promise<Reported> {
  const reported = await reportStatus(resource, status, options, remembered, { signal, atOnce });
  if (reported.written !== undefined) orphanGuard.confirmResource();
  return reported;
}

/** The resource after a write of its status. */
function withStatus(
  resource: ObservedResource,
  status: ManagedDeploymentStatus,
  { metadata: { resourceVersion } }: KubeObject,
): ObservedResource {
  const metadata = { ...resource.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  return { ...resource, metadata, status, ...namesAfterWrite(resource) };
}

/** The decision without the actions that the cluster has confirmed. */
function without(decision: Decision, done: readonly Action[]): Decision {
  const { actions, waiting } = decision.plan;
  return { ...decision, plan: { actions: actions.filter((action) => !done.includes(action)), waiting } };
}

/** Reports that the namespace is being deleted, so that no object can be created in it. */
function namespaceTerminating({ leaving }: Acted, { metadata: { namespace } }: ObservedResource): Failure[] {
  if (!leaving) return [];
  const message = `Namespace ${namespace} is being deleted: no object can be created in it`;
  return [{ actionId: '', reason: 'NamespaceTerminating', final: false, message }];
}

/**
 * In a namespace that is being deleted, the operator's rights may be removed first. A rejection for this reason is
 * ignored.
 */
function unlessNamespaceTerminating({ leaving }: Acted): (error: unknown) => Reported {
  return (error) => {
    if (!leaving || !isKubeError(error, 'forbidden')) throw error;
    return {};
  };
}

/** A persistent error, as a failure for the status. */
function lastingError(error: KubeError | undefined, { errors }: Remembered): Failure[] {
  if (error === undefined || errors < ERRORS_BEFORE_REPORTING) return [];
  const message = `${error.message}; the operator retries`;
  return [{ actionId: '', reason: 'ReconcileFailed', final: false, message }];
}

/** Records one span for each reconcile that changed an object. Most reconciles change nothing. */
function recordSpan(
  resource: ObservedResource,
  now: Date,
  { acted, reported }: { readonly acted: Acted; readonly reported: Reported },
  { options: { span, clock }, reconcileId }: ReconcileContext,
): void {
  const { deploymentId, recordGeneration: generation, revision } = resource.spec;
  const { done, error } = acted;
  const isIdle = done.length === 0 && reported.written === undefined && error === undefined;
  if (span === undefined || deploymentId === undefined || isIdle) return;
  span({
    name: 'reconcile',
    change: { deploymentId, generation },
    attributes: {
      'berth.reconcile_id': reconcileId,
      'berth.revision_id': revision?.id,
      'berth.resource': `${resource.metadata.namespace}/${resource.metadata.name}`,
      'berth.actions': done.length,
    },
    beganAt: now.getTime(),
    endedAt: clock.date().getTime(),
    error: error?.message,
  });
}

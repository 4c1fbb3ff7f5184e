import { KubeError, type KubeErrorKind } from '../../kube/client/errors.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { isSentinelOnly } from '../access/secrets.ts';
import { type Action, STAGES } from '../action.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import { type Failure, UnmetRequirement } from '../observe/failure.ts';
import { type ParentRead, readParent } from '../observe/parent.ts';
import type { ObservedResource } from '../observed.ts';
import { isPaused } from '../status/conditions.ts';
import { type Execution, execute } from './execute.ts';
import { explainExisting } from './existing.ts';
import { assertLeading } from './leadership-fence.ts';
import type { Refusals } from './refusals.ts';
import { refusedCall } from './refused-call.ts';

export interface ActInput extends Omit<Execution, 'view' | 'resource'> {
  readonly resource: ObservedResource;
  readonly view: ClusterView;
  readonly refusals: Refusals;
  /** When the reconcile began, in ticks (reconcile-time.ts). */
  readonly ticks: number;
  readonly mayAct: () => boolean;
  /** Whether the custom resource was read from the API server since this operator started. */
  readonly confirmed: boolean;
  /** An early read of the custom resource, which began after the state for the decision was gathered. */
  readonly parentRead?: ParentRead | undefined;
  /**
   * Called after the prerequisites and before the first change of a running object. Returns false if no object may
   * change, because the custom resource has changed.
   */
  readonly announce?: (() => Promise<boolean>) | undefined;
}

export interface Acted {
  readonly done: readonly Action[];
  /**
   * Written objects in the responses of the API server. The caches must show these objects before the next reconcile.
   */
  readonly written: readonly KubeObject[];
  /** The response of the API server to each action that was done; undefined: nothing was written. */
  readonly responses: readonly (readonly [Action, KubeObject | undefined])[];
  readonly failures: readonly Failure[];
  /** Whether no running object was changed, because the custom resource has changed since the decision. */
  readonly outdated: boolean;
  /** Whether the API server has confirmed that the custom resource has not changed since the decision. */
  readonly confirmed: boolean;
  /** Whether an object has changed since the decision, so that another reconcile is needed. */
  readonly stale: boolean;
  /** An error that may be temporary. */
  readonly error: KubeError | undefined;
  /** Whether the namespace is being deleted. */
  readonly leaving: boolean;
}

export type Result =
  | { kind: 'done'; written: KubeObject | undefined }
  | { kind: 'refused'; failure: Failure }
  | { kind: 'stale' }
  | { kind: 'leaving' }
  | { kind: 'error'; error: KubeError }
  /** An action that this action depends on did not succeed. */
  | { kind: 'skipped' };

/**
 * Executes actions, stage by stage. A failure blocks only the actions that depend on it.
 *
 * Before an object is created that could outlive the custom resource, the custom resource is read from the API server,
 * because a process that was suspended must not create objects for a resource that has been deleted. The custom
 * resource is also read before the first change after a start, because the first list may be stale. Every other call
 * contains the uid of the object that it was planned for.
 */
export async function act(actions: readonly Action[], input: ActInput): Promise<Acted> {
  const results = new Map<Action, Result>();
  const due = actions.filter((action) => {
    const failure = input.refusals.standing(action, input.ticks);
    if (failure !== undefined) results.set(action, { kind: 'refused', failure });
    return failure === undefined;
  });
  const reads = mustReadParent(due, input);
  if (reads && !(await isParentUnchanged(input))) return { ...summary(results), outdated: true };
  return { ...(await actInStages(due, results, input)), confirmed: reads };
}

/** Whether these actions need a read of the custom resource. */
function mustReadParent(due: readonly Action[], input: ActInput): boolean {
  if (due.length === 0) return false;
  // guard: read-after-start
  if (!input.confirmed) return true;
  // guard: read-before-creating
  return due.some((action) => mayOutlive(action, input));
}

async function actInStages(
  due: readonly Action[],
  results: Map<Action, Result>,
  input: ActInput,
): Promise<Acted> {
  let { announce } = input;
  for (const stage of [...new Set(due.map((action) => action.stage))].sort((a, b) => a - b)) {
    if (stage > STAGES.prerequisites && stage < STAGES.removal && announce !== undefined) {
      // guard: rollout-recorded-before-writes
      if (!(await announce())) return { ...summary(results), outdated: true };
      announce = undefined;
    }
    const unmet = new Set([...results].flatMap(([{ id }, { kind }]) => (kind === 'done' ? [] : [id])));
    const inStage = due.filter((action) => action.stage === stage);
    await Promise.all(
      inStage.map(async (action) => {
        const blocked = action.after.some((id) => unmet.has(id));
        results.set(action, blocked ? { kind: 'skipped' } : await attempt(action, input));
      }),
    );
  }
  return summary(results);
}

function isCreation({ kind }: Action): boolean {
  return kind === 'create' || kind === 'credentials' || kind === 'secrets';
}

/**
 * Whether the action may create an object that remains when the custom resource is gone. A sentinel does not remain.
 * Secrets own the sentinel, so it is removed with the last of these Secrets.
 */
function mayOutlive(action: Action, input: ActInput): boolean {
  return isCreation(action) && !(action.kind === 'secrets' && isSentinelOnly(action, input));
}

/** @throws KubeError when the API server does not respond */
async function isParentUnchanged(input: ActInput): Promise<boolean> {
  const { resource, parentRead } = input;
  const live = await (parentRead?.answer ?? readParent(input));
  return (
    live !== undefined &&
    live.metadata.uid === resource.metadata.uid &&
    live.metadata.generation === resource.metadata.generation &&
    live.metadata.deletionTimestamp === undefined &&
    !isPaused(live)
  );
}

async function attempt(action: Action, input: ActInput): Promise<Result> {
  try {
    assertLeading(input);
    const written = await execute(action, input);
    input.refusals.clear(action);
    return { kind: 'done', written };
  } catch (error) {
    if (!(error instanceof KubeError) && !(error instanceof UnmetRequirement)) throw error;
    const result =
      error instanceof UnmetRequirement ? unmet(action, error) : await classify(action, error, input);
    if (result.kind === 'refused') input.refusals.note(action, result.failure, input.ticks);
    return result;
  }
}

const LOST_SECRET_RETRY_MS = 5_000;

function unmet({ id: actionId }: Action, { reason, message }: UnmetRequirement): Result {
  const retry = reason === 'Conflict' ? {} : { retryWithinMs: LOST_SECRET_RETRY_MS };
  return { kind: 'refused', failure: { actionId, reason, final: false, message, ...retry } };
}

/** Only a change of the object, or of the operator's rights, resolves errors of these kinds. */
const REFUSALS: ReadonlySet<KubeErrorKind> = new Set(['invalid', 'bad_request', 'forbidden']);

async function classify(action: Action, error: KubeError, input: ActInput): Promise<Result> {
  // The next reconcile reads a Secret that was created in the meantime.
  if (action.kind !== 'create' || !isTaken(error)) return resultOfError(action, error);
  try {
    return await explainExisting(action, input);
  } catch (failed) {
    if (failed instanceof KubeError) return resultOfError(action, failed);
    throw failed;
  }
}

const isTaken = ({ kind }: KubeError) => kind === 'conflict' || kind === 'already_exists';

/** @throws KubeError when the call was aborted */
function resultOfError(action: Action, error: KubeError): Result {
  if (error.kind === 'aborted') throw error;
  if (error.causes.some(({ reason }) => reason === 'NamespaceTerminating')) return { kind: 'leaving' };
  // Another object has the name now. The API server reports this as an invalid change of the uid.
  const otherUid = error.kind === 'invalid' && error.causes.some(({ field }) => field === 'metadata.uid');
  if (isTaken(error) || otherUid || error.kind === 'not_found') return { kind: 'stale' };
  if (REFUSALS.has(error.kind)) return { kind: 'refused', failure: refusedCall(action, error) };
  return { kind: 'error', error };
}

function summary(results: ReadonlyMap<Action, Result>): Acted {
  const all = [...results];
  return {
    done: all.flatMap(([action, { kind }]) => (kind === 'done' ? [action] : [])),
    written: all.flatMap(([, result]) => (result.kind === 'done' && result.written ? [result.written] : [])),
    responses: all.flatMap(([action, result]) =>
      result.kind === 'done' ? [[action, result.written] as const] : [],
    ),
    failures: all.flatMap(([, result]) => (result.kind === 'refused' ? [result.failure] : [])),
    outdated: false,
    confirmed: false,
    stale: all.some(([, { kind }]) => kind === 'stale'),
    error: all.flatMap(([, result]) => (result.kind === 'error' ? [result.error] : []))[0],
    leaving: all.some(([, { kind }]) => kind === 'leaving'),
  };
}

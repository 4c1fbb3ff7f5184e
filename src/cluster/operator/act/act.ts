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
import { assertMayAct } from './leadership-fence.ts';
import type { Refusals } from './refusals.ts';
import { refusal } from './refused-call.ts';

export interface ActInput extends Omit<Execution, 'view' | 'resource'> {
  readonly resource: ObservedResource;
  readonly view: ClusterView;
  readonly refusals: Refusals;
  /** When the look began, in ticks (look-time.ts). */
  readonly ticks: number;
  readonly mayAct: () => boolean;
  /** Whether the custom resource was read from the server since this operator began. */
  readonly confirmed: boolean;
  /** It was asked for already, since what was decided on was gathered. */
  readonly parentRead?: ParentRead | undefined;
  /**
   * To be called when the prerequisites are there and something is about to be changed that runs; false: nothing may be,
   * because the custom resource is not what it was.
   */
  readonly announce?: (() => Promise<boolean>) | undefined;
}

export interface Acted {
  readonly done: readonly Action[];
  /** Objects as the cluster answered: the caches have to catch up with them. */
  readonly written: readonly KubeObject[];
  /** What the cluster answered to each action that was done; undefined: nothing was written. */
  readonly answers: readonly (readonly [Action, KubeObject | undefined])[];
  readonly failures: readonly Failure[];
  /** The custom resource is not what it was when this was decided: nothing that runs was touched. */
  readonly outdated: boolean;
  /** The custom resource is what it was when this was decided: the server itself has said so. */
  readonly confirmed: boolean;
  /** Some object is not what it was: look again. */
  readonly stale: boolean;
  /** A failure that may pass by itself. */
  readonly error: KubeError | undefined;
  /** The namespace is being deleted, and everything with it. */
  readonly leaving: boolean;
}

export type Result =
  | { kind: 'done'; written: KubeObject | undefined }
  | { kind: 'refused'; failure: Failure }
  | { kind: 'stale' }
  | { kind: 'leaving' }
  | { kind: 'error'; error: KubeError }
  /** An action that it depends on did not succeed. */
  | { kind: 'skipped' };

/**
 * Carries out actions, stage by stage. A failure holds up only what depends on it.
 *
 * Before anything is made that could outlive it, the custom resource is read from the server itself: a replica that slept
 * and woke must not bring back what was deleted meanwhile. So it is before the first change of all: an operator that has
 * just begun may have been given a list of before, and every change has its own effect. Every other call carries the uid of
 * the object that it was decided for.
 */
export async function act(actions: readonly Action[], input: ActInput): Promise<Acted> {
  const results = new Map<Action, Result>();
  const due = actions.filter((action) => {
    const failure = input.refusals.standing(action, input.ticks);
    if (failure !== undefined) results.set(action, { kind: 'refused', failure });
    return failure === undefined;
  });
  const reads = due.length > 0 && (!input.confirmed || due.some((action) => mayOutlive(action, input)));
  if (reads && !(await isParentUnchanged(input))) return { ...summary(results), outdated: true };
  return { ...(await actInStages(due, results, input)), confirmed: reads };
}

async function actInStages(
  due: readonly Action[],
  results: Map<Action, Result>,
  input: ActInput,
): Promise<Acted> {
  let { announce } = input;
  for (const stage of [...new Set(due.map((action) => action.stage))].sort((a, b) => a - b)) {
    if (stage > STAGES.prerequisites && stage < STAGES.removal && announce !== undefined) {
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
 * Whether it may make something that stays behind where the custom resource is gone. A witness does not: it is its
 * Secrets' own, and goes with the last of them.
 */
function mayOutlive(action: Action, input: ActInput): boolean {
  return isCreation(action) && !(action.kind === 'secrets' && isSentinelOnly(action, input));
}

/** @throws KubeError when the server does not answer */
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
    assertMayAct(input);
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

/** Nothing helps but a change of the object, or of our rights. */
const REFUSALS: ReadonlySet<KubeErrorKind> = new Set(['invalid', 'bad_request', 'forbidden']);

async function classify(action: Action, error: KubeError, input: ActInput): Promise<Result> {
  // A Secret: whoever made it meanwhile, the next look reads it.
  if (action.kind !== 'create' || !isTaken(error)) return answerTo(action, error);
  try {
    return await explainExisting(action, input);
  } catch (failed) {
    if (failed instanceof KubeError) return answerTo(action, failed);
    throw failed;
  }
}

const isTaken = ({ kind }: KubeError) => kind === 'conflict' || kind === 'already_exists';

/** @throws KubeError when the call was given up */
function answerTo(action: Action, error: KubeError): Result {
  if (error.kind === 'aborted') throw error;
  if (error.causes.some(({ reason }) => reason === 'NamespaceTerminating')) return { kind: 'leaving' };
  // Another object has the name now: the server calls that an invalid change of its uid.
  const otherUid = error.kind === 'invalid' && error.causes.some(({ field }) => field === 'metadata.uid');
  if (isTaken(error) || otherUid || error.kind === 'not_found') return { kind: 'stale' };
  if (REFUSALS.has(error.kind)) return { kind: 'refused', failure: refusal(action, error) };
  return { kind: 'error', error };
}

function summary(results: ReadonlyMap<Action, Result>): Acted {
  const all = [...results];
  return {
    done: all.flatMap(([action, { kind }]) => (kind === 'done' ? [action] : [])),
    written: all.flatMap(([, result]) => (result.kind === 'done' && result.written ? [result.written] : [])),
    answers: all.flatMap(([action, result]) =>
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

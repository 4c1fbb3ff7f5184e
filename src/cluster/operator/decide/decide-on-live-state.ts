import { withLiveComponents } from '../observe/live-reads.ts';
import { type ParentRead, readParentAhead } from '../observe/parent.ts';
import type { Observed } from '../observed.ts';
import type { ReconcileContext } from '../reconcile-context.ts';
import { type Decision, decide } from './decide.ts';
import { desiredState } from './desired-state.ts';

export interface Decided {
  readonly observed: Observed;
  readonly decision: Decision;
  /** Time of the decision. */
  readonly now: Date;
  /** A read of the custom resource that was started early; undefined: no read was started. */
  readonly parentRead: ParentRead | undefined;
}

/**
 * Decides. Before a rollout is declared failed, its components are read from the API server and the decision is made
 * again. The early read of the custom resource is dropped in this case, because it is older.
 */
export async function decideOnLiveState(
  cached: Observed,
  now: Date,
  { options: { view, client, config }, patience, signal }: ReconcileContext,
): Promise<Decided> {
  const parentRead = await readParentAhead({ client, resource: cached.resource, signal });
  const input = { config, patience, now };
  const decision = decide(cached, desiredState(cached, config, now), input);
  if (decision.verdict.kind !== 'failed' || !decision.verdict.seen) {
    return { observed: cached, decision, now, parentRead };
  }
  const observed = await withLiveComponents(cached, decision, view, signal);
  const again = decide(observed, desiredState(observed, config, now), input);
  return { observed, decision: again, now, parentRead: undefined };
}

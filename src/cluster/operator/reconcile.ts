import { isKubeError } from '../kube/client/errors.ts';
import type { ReconcileOutcome } from '../kube/queue/controller.ts';
import { MarkerKey } from './access/marker-key.ts';
import { withOwnNamespaceRefused } from './access/own-namespace.ts';
import { applyPlan } from './act/apply-plan.ts';
import { OrphanGuard } from './act/orphan-guard.ts';
import { decideOnLiveState } from './decide/decide-on-live-state.ts';
import { Memory, type Remembered } from './memory.ts';
import { gather } from './observe/gather.ts';
import { observe } from './observe/observe.ts';
import { type ReconcileContext, withReconcileLogger } from './reconcile-context.ts';
import { reconcileTime } from './reconcile-time.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import { nextReconcile, staleOutcome } from './requeue.ts';
import { DEFAULT_PATIENCE, type Patience } from './rollout/failure-rules.ts';
import { report } from './status/report.ts';
import { endWithoutReconcile } from './status/terminal-status.ts';

/**
 * Requeue delay while the caches do not show the last writes of this process. Usually the watch event arrives earlier.
 * The delay covers a lost event.
 */
const CATCH_UP_MS = 2_000;

/** Namespace of Berth itself, unless a setting names another one. */
const OWN_NAMESPACE = 'berth-system';

type Reconcile = (key: string, signal: AbortSignal, reconcileId?: string) => Promise<ReconcileOutcome>;

/**
 * Creates the function that reconciles one custom resource: observe, decide, act, report. Any reconcile may be the
 * first after a restart, so it relies only on the state in the cluster.
 */
export function createReconciler(shared: ReconcilerOptions): Reconcile {
  const { view, images, lookups, config, clock } = shared;
  const patience: Patience = {
    ...DEFAULT_PATIENCE,
    ...shared.patience,
    deadlineMs: config.progressDeadlineSeconds * 1000,
  };
  const memory = new Memory();
  const { ownNamespace = OWN_NAMESPACE } = shared;
  const secretRules = {
    ownNamespace,
    labelledOnly: shared.policy.secret_references.labelled_only,
    platformSecrets: config.otlpHeadersSecret ? [config.otlpHeadersSecret] : [],
  };
  const markerKey = new MarkerKey(shared.client, ownNamespace);

  /** Whether the caches do not contain the last writes of this process yet. A reconcile would then act on old state. */
  const cachesLag = (remembered: Remembered): boolean => {
    remembered.written = remembered.written.filter((object) => !view.isCurrent(object));
    return remembered.written.length > 0;
  };

  const reconcile = async (
    key: string,
    common: Pick<ReconcileContext, 'orphanGuard' | 'signal' | 'reconcileId'>,
  ): Promise<ReconcileOutcome> => {
    const remembered = memory.of(key);
    // guard: caches-show-own-writes
    if (view.resource(key) !== undefined && cachesLag(remembered)) {
      return { kind: 'requeue', afterMs: CATCH_UP_MS };
    }
    const gathered = gather(view, key);
    if (gathered.kind === 'absent') {
      memory.forget(key);
      images?.forget(key);
      lookups?.forget(key);
      return { kind: 'settled' };
    }
    const options = withReconcileLogger(shared, gathered, common.reconcileId);
    const context = { ...common, options, patience, secretRules, markerKey, remembered };
    const ended = await endWithoutReconcile(gathered, context);
    if (ended !== null) return ended;
    const time = reconcileTime(clock);
    const asked = await observe(key, gathered.observed, time, context);
    const observed = withOwnNamespaceRefused(asked, ownNamespace);
    const decided = await decideOnLiveState(observed, new Date(time.date), context);
    const applied = await applyPlan(decided, time, context);
    if (applied.acted.outdated) return staleOutcome(applied.acted.error);
    const reported = await report({ ...decided, ...applied }, applied.acted, context);
    // The caches do not report own writes of the status, such as that of the active revision.
    shared.schedules?.reconciled(key);
    return nextReconcile({ ...applied, ...reported, remembered, time });
  };

  return async (key, signal, reconcileId) => {
    const orphanGuard = new OrphanGuard(shared.mayAct);
    let outcome: ReconcileOutcome;
    try {
      outcome = await reconcile(key, { orphanGuard, signal, reconcileId });
    } catch (error) {
      await orphanGuard.collectOrphans().catch(() => undefined);
      throw error;
    }
    return (await checkOrphans(orphanGuard)) ?? outcome;
  };
}

/** Checks objects that were created without an owner, unless a later write has confirmed the custom resource. */
async function checkOrphans(orphanGuard: OrphanGuard): Promise<ReconcileOutcome | undefined> {
  try {
    await orphanGuard.collectOrphans();
    return undefined;
  } catch (error) {
    if (!isKubeError(error) || error.kind === 'aborted') throw error;
    return { kind: 'retry', error };
  }
}

/** All plans. */

import { type FaultPlan, kindOf, PLAN_KINDS, type PlanKind } from './plan.ts';
import { apiServerDownPlans } from './plans/api-server-down.ts';
import { burstPlans } from './plans/burst.ts';
import { deletionPlans } from './plans/deletion.ts';
import { immutablePlans } from './plans/immutable.ts';
import { killPlans } from './plans/kill.ts';
import { kubectlPlans } from './plans/kubectl.ts';
import { lateCallPlans } from './plans/late-calls.ts';
import { loadPlans } from './plans/load.ts';
import { lostResponsePlans } from './plans/lost-response.ts';
import { notifyPlans } from './plans/notify.ts';
import { pausedProcessPlans } from './plans/paused-process.ts';
import { postgresPlans } from './plans/postgres.ts';
import { releaseStatusPlans } from './plans/release-status.ts';
import { secondProcessPlans } from './plans/second-process.ts';
import { sigtermPlans } from './plans/sigterm.ts';
import { soakPlans } from './plans/soak.ts';
import { staleListPlans } from './plans/stale-list.ts';
import { staleViewPlans } from './plans/stale-view.ts';
import { statusCodePlans } from './plans/status-codes.ts';
import { taskPlans } from './plans/tasks.ts';
import { volumeRemovalPlans } from './plans/volume-removal.ts';
import { watchPlans } from './plans/watch.ts';
import { readRecording } from './record.ts';
import { walkPlan } from './walk/plan.ts';

/** Duration of O5 in one plan of each kind. Every retry in Berth occurs at least once a minute. */
const LONG_QUIET_SECONDS = 60;
/** The plan of each kind that leaves most to retry. `walk` has its own check of this length. */
const LONG_QUIET: Readonly<Record<Exclude<PlanKind, 'walk'>, string>> = {
  kill: 'kill/create/operator-apply-deployments-shop-x-api-1/after-response',
  'lost-response': 'lost-response/create/operator-create-persistentvolumeclaims-shop-x-db-1',
  'api-server-down': 'api-server-down/mid-rollout/blackhole',
  watch: 'watch/blackhole/operator',
  'stale-list': 'stale-list/scaled-up-again/operator-everything',
  'status-codes': 'status-codes/operator/apply/lasting',
  postgres: 'postgres/under-writes/silent',
  notify: 'notify/out-of-order/polled',
  'two-of-each': 'two-of-each/listener/update/post-reports',
  deletion: 'deletion/same-name/repeated',
  burst: 'burst/steady',
  kubectl: 'kubectl/deleted/manageddeployments',
  immutable: 'immutable/foreign/services',
  tasks: 'tasks/release/job-deleted',
  load: 'load/pod-events',
  sigterm: 'sigterm/operator/busy',
  soak: 'soak/watch-cuts',
};

/**
 * A silent stream on a working connection counts as dead after 90 s (plans/watch.ts). The lost events must have been
 * recovered 30 s later. O1 counts from the last event that was lost.
 */
const NOTICED_LATE_SECONDS = 120;
const NOTICED_LATE: ReadonlySet<string> = new Set([
  'watch/silent-streams/operator',
  'watch/silent-streams/listener',
]);

/** All plans, without running anything. @throws Error if two plans have the same name, or a name has no known kind */
export function allPlans(): FaultPlan[] {
  const recording = readRecording();
  const plans = [
    ...killPlans(recording),
    ...lostResponsePlans(recording),
    ...apiServerDownPlans,
    ...watchPlans,
    ...staleListPlans,
    ...statusCodePlans,
    ...postgresPlans,
    ...notifyPlans,
    ...secondProcessPlans,
    ...deletionPlans,
    ...volumeRemovalPlans,
    ...burstPlans,
    ...kubectlPlans,
    ...releaseStatusPlans,
    ...immutablePlans,
    ...taskPlans,
    ...loadPlans,
    ...sigtermPlans,
    ...pausedProcessPlans,
    ...staleViewPlans,
    ...lateCallPlans,
    walkPlan,
    ...soakPlans,
  ];
  const names = new Set<string>();
  for (const { name } of plans) {
    if (names.has(name)) throw new Error(`two plans are called ${name}`);
    if (!PLAN_KINDS.includes(kindOf({ name }))) throw new Error(`${name} does not begin with a kind`);
    names.add(name);
  }
  return withLongQuiet(plans).map((plan) =>
    NOTICED_LATE.has(plan.name) ? { ...plan, convergesWithinSeconds: NOTICED_LATE_SECONDS } : plan,
  );
}

function withLongQuiet(plans: readonly FaultPlan[]): FaultPlan[] {
  for (const [kind, name] of Object.entries(LONG_QUIET))
    if (!plans.some((plan) => plan.name === name && kindOf(plan) === kind))
      throw new Error(`there is no plan ${name} of the kind ${kind}`);
  const longest = new Set(Object.values(LONG_QUIET));
  return plans.map((plan) => (longest.has(plan.name) ? { ...plan, quietSeconds: LONG_QUIET_SECONDS } : plan));
}

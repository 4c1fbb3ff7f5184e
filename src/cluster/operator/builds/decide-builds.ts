import type { BuildLimits } from '../../../contract/render/build-config.ts';
import type { BuildSpec } from '../../../contract/resource/build.ts';
import { LABELS } from '../../../contract/resource/names.ts';
import { compareText } from '../../../domain/core/compare-text.ts';
import { labelValue } from '../../../workloads/labels.ts';
import { endOfJob, type ObservedPod, type ObservedResource } from '../observed.ts';
import { isPaused } from '../status/conditions.ts';
import type { BuildJudgement } from './judge-build.ts';
import {
  attemptOf,
  isOfBuild,
  isOfDeployment,
  mayRun,
  type ObservedJob,
  podOf,
  stepsAreOver,
} from './observed-build.ts';
import { isUnbegun } from './slow-start.ts';

/** A requested build. */
export interface WantedBuild {
  /** Key of its custom resource: `namespace/name`. */
  readonly key: string;
  readonly resource: ObservedResource;
  readonly build: BuildSpec;
  readonly judgement: BuildJudgement;
}

export interface BuildsInput {
  readonly wanted: readonly WantedBuild[];
  /** All managed Jobs and pods in the build namespace, for the watched namespaces. */
  readonly jobs: readonly ObservedJob[];
  readonly pods: readonly ObservedPod[];
  /** The custom resource of a Job, whether or not it still requests a build; undefined: it is gone. */
  readonly resourceOf: (job: ObservedJob) => ObservedResource | undefined;
  readonly limits: BuildLimits;
  readonly now: Date;
}

export type BuildAction =
  | { readonly kind: 'create'; readonly wanted: WantedBuild; readonly attempt: number }
  | { readonly kind: 'delete'; readonly job: ObservedJob; readonly reason: string };

export interface BuildsDecision {
  readonly actions: readonly BuildAction[];
  /** When to reconcile again without an event (ms since the epoch); null: never. */
  readonly recheckAt: number | null;
}

/**
 * The tenant of a build is identified by its namespace, because in cloud mode each tenant has its own. `spec.tenantId`
 * does not identify the tenant, because the writer of a resource chooses it.
 */
const tenantOf = ({ metadata }: ObservedJob) => metadata.labels?.[LABELS.namespace] ?? '';
const tenantOfWanted = ({ resource }: WantedBuild) => labelValue(resource.metadata.namespace);

/**
 * Decides which Jobs to create and which to delete. Pure: the same input gives the same decision.
 *
 * - A Job is deleted when its deployment no longer exists or builds a newer revision.
 * - A deployment has one build at a time. The next build starts when no part of the last build runs.
 * - The number of builds is limited, in total and per tenant. Among tenants with a build that may start, the tenant
 * with the fewest running builds comes first, then the tenant whose last build started longest ago. Times have whole
 * seconds. For equal times, the tenant with the fewest starts in this second comes first. Within a tenant, the oldest
 * revision comes first.
 */
export function decideBuilds(input: BuildsInput): BuildsDecision {
  const { wanted, jobs, now } = input;
  const removals = jobs.flatMap((job): BuildAction[] => {
    const reason = job.metadata.deletionTimestamp === undefined ? whyRemoved(job, input) : null;
    return reason === null ? [] : [{ kind: 'delete', job, reason }];
  });
  const due = wanted.filter(({ judgement: { start } }) => start !== null && start.notBefore <= now.getTime());
  const ready = due.filter((candidate) => mayStart(candidate, input));
  const times = wanted.flatMap(({ judgement: { start, recheckAt } }) => [start?.notBefore, recheckAt]);
  const later = times.filter((time) => time != null && time > now.getTime()) as number[];
  // A pod that does not terminate blocks its deployment for a limited time, and no event reports the end of this time.
  const held = due.length > ready.length ? [now.getTime() + HELD_MS] : [];
  const recheckAt = Math.min(...later, ...held);
  return {
    actions: [...removals, ...fairly(ready, input)],
    recheckAt: Number.isFinite(recheckAt) ? recheckAt : null,
  };
}

const HELD_MS = 10_000;

/** Why a Job is deleted; null: it is kept until its time to live ends. */
function whyRemoved(job: ObservedJob, { wanted, pods, resourceOf }: BuildsInput): string | null {
  const resource = resourceOf(job);
  if (
    resource === undefined ||
    resource.metadata.deletionTimestamp !== undefined ||
    !isOfDeployment(job, resource)
  ) {
    return 'its deployment is gone';
  }
  const asked = wanted.find(({ resource: { metadata } }) => metadata.uid === resource.metadata.uid);
  if (asked !== undefined && !isOfBuild(job, resource, asked.build)) return 'a newer revision is requested';
  // An ended Job is kept for some time, because users may read its log.
  if (endOfJob(job) !== null) return null;
  const pod = podOf(job, pods);
  if (asked !== undefined && pod !== undefined && isGivenUp(job, pod, asked.judgement)) {
    return 'it did not start';
  }
  if (asked !== undefined || (pod !== undefined && stepsAreOver(pod))) return null;
  return 'its image is no longer needed';
}

/**
 * Whether another attempt replaces this attempt, or the build has failed. A Job whose pod never starts would not end by
 * itself.
 */
function isGivenUp(job: ObservedJob, pod: ObservedPod, { status, start }: BuildJudgement): boolean {
  const isOver = status.phase === 'Failed' || (start !== null && start.attempt > attemptOf(job));
  return isOver && isUnbegun(pod) && !stepsAreOver(pod);
}

function mayStart({ resource }: WantedBuild, { jobs, pods, now }: BuildsInput): boolean {
  if (isPaused(resource)) return false;
  const busy = jobs.some((job) => isOfDeployment(job, resource) && endOfJob(job) === null);
  return !busy && !pods.some((pod) => isOfDeployment(pod, resource) && mayRun(pod, now.getTime()));
}

/** The second of a tenant's last start, and the number of starts in it. */
interface Beginning {
  readonly second: string;
  readonly count: number;
}

function lastBeginning(jobs: readonly ObservedJob[]): Beginning {
  const seconds = jobs.map(({ metadata }) => metadata.creationTimestamp ?? '');
  const second = seconds.toSorted(compareText).at(-1) ?? '';
  return { second, count: seconds.filter((other) => other === second).length };
}

const NEVER: Beginning = { second: '', count: 0 };

const compareBeginnings = (a = NEVER, b = NEVER) => compareText(a.second, b.second) || a.count - b.count;

function fairly(ready: readonly WantedBuild[], { jobs, limits }: BuildsInput): BuildAction[] {
  const running = jobs.filter((job) => endOfJob(job) === null);
  const counts = new Map<string, number>();
  for (const job of running) counts.set(tenantOf(job), (counts.get(tenantOf(job)) ?? 0) + 1);
  const begun = Map.groupBy(jobs, tenantOf);
  const lastBegan = new Map([...begun].map(([tenant, made]) => [tenant, lastBeginning(made)]));
  // UUIDs of version 7 are ordered by creation time.
  const queues = Map.groupBy(
    [...ready].sort((a, b) => compareText(a.build.revisionId, b.build.revisionId)),
    tenantOfWanted,
  );
  const actions: BuildAction[] = [];
  for (let free = limits.total - running.length; free > 0; free -= 1) {
    const [turn] = [...queues]
      .filter(([tenant, queue]) => queue.length > 0 && (counts.get(tenant) ?? 0) < limits.perTenant)
      .sort(
        ([a, [first]], [b, [second]]) =>
          (counts.get(a) ?? 0) - (counts.get(b) ?? 0) ||
          compareBeginnings(lastBegan.get(a), lastBegan.get(b)) ||
          compareText(first?.build.revisionId ?? '', second?.build.revisionId ?? ''),
      );
    const next = turn?.[1].shift();
    if (turn === undefined || next === undefined) break;
    const [tenant] = turn;
    counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    actions.push({ kind: 'create', wanted: next, attempt: next.judgement.start?.attempt ?? 1 });
  }
  return actions;
}

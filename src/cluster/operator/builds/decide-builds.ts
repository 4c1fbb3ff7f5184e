import type { BuildLimits } from '../../../contract/render/build-config.ts';
import type { BuildSpec } from '../../../contract/resource/build.ts';
import { LABELS } from '../../../contract/resource/names.ts';
import { compareText } from '../../../domain/core/compare-text.ts';
import { labelValue } from '../../../workloads/labels.ts';
import type { ObservedPod, ObservedResource } from '../observed.ts';
import { isPaused } from '../status/conditions.ts';
import type { Judgement } from './judge-build.ts';
import {
  attemptOf,
  endOf,
  isOfBuild,
  isOfDeployment,
  mayRun,
  type ObservedJob,
  podOf,
  stepsAreOver,
} from './observed-build.ts';
import { isUnbegun } from './slow-start.ts';

/** A build that is asked for. */
export interface WantedBuild {
  /** Of its custom resource: `namespace/name`. */
  readonly key: string;
  readonly resource: ObservedResource;
  readonly build: BuildSpec;
  readonly judgement: Judgement;
}

export interface BuildsInput {
  readonly wanted: readonly WantedBuild[];
  /** Every Job and pod of ours in the namespace of builds, of the namespaces that we work in. */
  readonly jobs: readonly ObservedJob[];
  readonly pods: readonly ObservedPod[];
  /** The custom resource that a Job was made for, be it that nothing is built for it now; undefined: it is gone. */
  readonly resourceOf: (job: ObservedJob) => ObservedResource | undefined;
  readonly limits: BuildLimits;
  readonly now: Date;
}

export type BuildAction =
  | { readonly kind: 'create'; readonly wanted: WantedBuild; readonly attempt: number }
  | { readonly kind: 'delete'; readonly job: ObservedJob; readonly reason: string };

export interface BuildsDecision {
  readonly actions: readonly BuildAction[];
  /** When to look again (ms since the epoch), if nothing happens before; null: never. */
  readonly recheckAt: number | null;
}

/** A tenant is its namespace, of which in cloud each has one: `spec.tenantId` is what the writer of a resource says. */
const tenantOf = ({ metadata }: ObservedJob) => metadata.labels?.[LABELS.namespace] ?? '';
const tenantOfWanted = ({ resource }: WantedBuild) => labelValue(resource.metadata.namespace);

/**
 * Which Jobs are made and which go. Pure: the same look gives the same decision, and a place that is free is given once.
 *
 * - A Job that nobody waits for is ended: its deployment is gone, or builds something newer.
 * - One build of a deployment at a time: the next one starts when nothing of the last one runs any more.
 * - Places are limited, in all and for each tenant. Among tenants with a build that may start, the one with the fewest
 *   running comes first, then the one whose last build began longest ago (times have whole seconds: of one second, the
 *   one with the fewest begun in it); of a tenant, the oldest revision.
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
  // A pod that is stuck on its way out holds its deployment up for a while: no event tells of its end.
  const held = due.length > ready.length ? [now.getTime() + HELD_MS] : [];
  const recheckAt = Math.min(...later, ...held);
  return {
    actions: [...removals, ...fairly(ready, input)],
    recheckAt: Number.isFinite(recheckAt) ? recheckAt : null,
  };
}

const HELD_MS = 10_000;

/** Why a Job is not to be there; null: it may stay, until its time to live is over. */
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
  if (asked !== undefined && !isOfBuild(job, resource, asked.build)) return 'a newer revision is to be built';
  // What has ended stays for a while: somebody may read its log.
  if (endOf(job) !== null) return null;
  const pod = podOf(job, pods);
  if (asked !== undefined && pod !== undefined && isGivenUp(job, pod, asked.judgement)) {
    return 'nothing of it has begun';
  }
  if (asked !== undefined || (pod !== undefined && stepsAreOver(pod))) return null;
  return 'its image is not wanted any more';
}

/** Another attempt is to take the place of this one, or none: a Job whose pod never begins would not end by itself. */
function isGivenUp(job: ObservedJob, pod: ObservedPod, { status, start }: Judgement): boolean {
  const isOver = status.phase === 'Failed' || (start !== null && start.attempt > attemptOf(job));
  return isOver && isUnbegun(pod) && !stepsAreOver(pod);
}

function mayStart({ resource }: WantedBuild, { jobs, pods, now }: BuildsInput): boolean {
  if (isPaused(resource)) return false;
  const busy = jobs.some((job) => isOfDeployment(job, resource) && endOf(job) === null);
  return !busy && !pods.some((pod) => isOfDeployment(pod, resource) && mayRun(pod, now.getTime()));
}

/** The second in which a tenant's last build began, and how many began in it. */
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
  const running = jobs.filter((job) => endOf(job) === null);
  const counts = new Map<string, number>();
  for (const job of running) counts.set(tenantOf(job), (counts.get(tenantOf(job)) ?? 0) + 1);
  const begun = Map.groupBy(jobs, tenantOf);
  const lastBegan = new Map([...begun].map(([tenant, made]) => [tenant, lastBeginning(made)]));
  // Ids are UUID v7: their order is that of their making.
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

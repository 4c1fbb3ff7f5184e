import { type ConditionType, reasonOr } from '../../../domain/conditions/conditions.ts';
import { waitsForPerson } from '../../../domain/conditions/unattended-reasons.ts';
import { failedBefore } from '../rollout/target.ts';
import { type Finding, pausedFinding, yes } from './conditions.ts';
import type { Facts } from './facts.ts';
import { buildTrouble, imageReady } from './image-findings.ts';
import { ready } from './ready-findings.ts';
import { ofWhatServes, progressing } from './rollout-findings.ts';
import { cacheReady, databaseReady } from './service-findings.ts';
import { serving } from './serving-findings.ts';

/**
 * The rules of all conditions. Each type has one ordered list of checks, and the first check that applies determines
 * the condition. The lists of checks, in this file and in the files named `*-findings.ts`, are the specification of the
 * status.
 */

/** All conditions; null keeps the former condition. */
export function findings(facts: Facts): Partial<Record<ConditionType, Finding | null>> {
  const isReady = ready(facts);
  return {
    DatabaseReady: databaseReady(facts),
    CacheReady: cacheReady(facts),
    ImageReady: imageReady(facts),
    Progressing: progressing(facts),
    Serving: serving(facts),
    // The conditions of routes exist only if a route is requested.
    ...(facts.route === null ? {} : { RouteReady: facts.route }),
    ...(facts.domains === null ? {} : { DomainsReady: facts.domains }),
    ...(facts.observed.resource.spec.schedules === undefined ? {} : { SchedulesHealthy: facts.schedules }),
    Ready: isReady,
    ...progressFindings(facts, isReady),
    ...(facts.paused
      ? { Paused: pausedFinding(facts.observed.resource, 'Berth changes nothing in the cluster') }
      : {}),
  };
}

/**
 * The conditions Reconciling and Stalled, with which tools such as kstatus distinguish work in progress from a failure. A
 * condition that is not True is omitted.
 */
interface Progress {
  readonly Reconciling?: Finding;
  readonly Stalled?: Finding;
}

type StalledCheck = (facts: Facts, ready: Finding) => Finding | null | undefined | false;

/**
 * Why nothing improves until a person changes the spec or the cluster, in order. The first reason that applies is
 * reported. Berth retries rejected calls and observes the cluster also while one applies.
 */
const STALLED_CHECKS: readonly StalledCheck[] = [
  function rolloutFailed({ decision: { verdict, target } }) {
    return verdict.kind === 'failed' && yes(verdict.reason, `${verdict.message}${ofWhatServes(target)}`);
  },
  function desiredRevisionFailedBefore({ decision: { verdict, target } }) {
    const failed = failedBefore(target);
    // A later change of the revision that serves is in progress.
    if (failed === null || verdict.kind === 'progressing') return false;
    return yes(reasonOr(failed.reason, 'RolloutFailed'), failed.message);
  },
  function objectRejected({ failures }) {
    const failure = failures.find(({ final }) => final);
    return failure && yes(failure.reason, failure.message);
  },
  function noImageIsBuilt({ observed }) {
    const trouble = buildTrouble(observed);
    return trouble && yes(trouble.reason, trouble.message);
  },
  function notReadyUntilPersonActs(_facts, { reason, message }) {
    return waitsForPerson(reason) && yes(reason, message);
  },
];

/**
 * @param ready the condition Ready, whose reason and message Reconciling repeats
 */
function progressFindings(facts: Facts, ready: Finding): Progress {
  // A paused resource is neither in progress nor failed.
  if (ready.status === 'True' || facts.paused) return {};
  const isLeaving = facts.observed.resource.spec.deletion !== undefined;
  if (!isLeaving) {
    for (const check of STALLED_CHECKS) {
      const stalled = check(facts, ready);
      if (stalled) return { Stalled: stalled };
    }
  }
  return { Reconciling: yes(ready.reason, ready.message) };
}

import { reasonOr } from '../../../domain/conditions/conditions.ts';
import { failedBefore } from '../rollout/target.ts';
import { type Finding, yes } from './conditions.ts';
import type { Facts } from './facts.ts';
import { buildFinding } from './image-findings.ts';
import { ofWhatServes } from './rollout-findings.ts';

/**
 * The conditions Reconciling and Stalled, with which tools such as kstatus distinguish work in progress from a failure. A
 * condition that is not True is omitted.
 */

export interface Progress {
  readonly Reconciling?: Finding;
  readonly Stalled?: Finding;
}

type StalledCheck = (facts: Facts) => Finding | null | undefined | false;

/** Why nothing changes until the spec does, in order. The first reason that applies is reported. */
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
  function buildFailed({ observed }) {
    if (observed.build?.phase !== 'Failed') return false;
    const building = buildFinding(observed);
    return building && yes(building.reason, building.message);
  },
];

/**
 * @param ready the condition Ready, whose reason and message Reconciling repeats
 */
export function progressFindings(facts: Facts, ready: Finding): Progress {
  // A paused resource is neither in progress nor failed.
  if (ready.status === 'True' || facts.paused) return {};
  const isLeaving = facts.observed.resource.spec.deletion !== undefined;
  if (!isLeaving) {
    for (const check of STALLED_CHECKS) {
      const stalled = check(facts);
      if (stalled) return { Stalled: stalled };
    }
  }
  return { Reconciling: yes(ready.reason, ready.message) };
}

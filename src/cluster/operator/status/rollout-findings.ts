import type { Reason } from '../../../domain/conditions/conditions.ts';
import type { Decision } from '../decide/decide.ts';
import type { Observed } from '../observed.ts';
import type { PendingRelease } from '../releases/release.ts';
import type { Verdict } from '../rollout/rollout.ts';
import {
  awaitedBy,
  awaitsServices,
  failureOf,
  isUntouched,
  releaseOf,
  type Target,
} from '../rollout/target.ts';
import { conditionOf, type Finding, no, yes } from './conditions.ts';
import type { Facts } from './facts.ts';
import { lackOfServices } from './service-trouble.ts';

/** The condition Progressing: the progress and the result of the rollout. */
export function progressing({ observed, decision }: Facts): Finding {
  const { target, verdict } = decision;
  const name = revisionName(target.revision?.number ?? observed.resource.spec.revision.number);
  const next =
    target.heldUntil === null ? '' : `; ${revisionName(observed.resource.spec.revision.number)} follows`;
  if (target.kind === 'off') return no('SwitchedOff', 'switched off: no revision is rolled out');
  if (verdict.kind === 'idle') return no('NoRevision', 'there is no revision to run yet');
  const release = verdict.kind === 'failed' || awaitsServices(target) ? null : releaseOf(target);
  if (release !== null) {
    const meanwhile = target.kind === 'active' ? `; ${name} continues to run` : '';
    return yes(releaseReason(release), `${releaseMessage(observed, release)}${meanwhile}`);
  }
  if (verdict.kind === 'waiting') {
    return yes('AwaitingDataServices', `${name} is rolled out when database and cache are ready`);
  }
  if (verdict.kind === 'failed') return failed(observed, decision, verdict);
  const awaits = awaitedBy(target);
  if (awaits !== null) {
    const { number, services } = awaits;
    const lack = lackOfServices(observed, services).message;
    return yes('AwaitingDataServices', `${revisionName(number)} waits: ${lack}; ${name} continues to run`);
  }
  if (verdict.kind === 'progressing' && target.kind === 'rollout') {
    return yes('RolloutInProgress', `${name}: ${verdict.awaited}${next}`);
  }
  if (verdict.kind === 'progressing') {
    return no('Reconciling', `no rollout is in progress; ${name}: ${verdict.awaited}${next}`);
  }
  return no('RolloutComplete', `${name} is rolled out to every component`);
}

/** The reason of a deployment whose desired revision waits for its release. */
export const releaseReason = (release: PendingRelease): Reason =>
  (release.kind === 'waiting' ? release.reason : undefined) ?? 'ReleaseInProgress';

/** What the desired revision waits for before its rollout. */
export function releaseMessage({ resource }: Observed, release: PendingRelease): string {
  const why = 'message' in release ? release.message : 'its release command is about to start';
  return `${revisionName(resource.spec.revision.number)} waits: ${why}`;
}

/** States what failed, the cause, and which revision runs instead. */
function failed(
  { resource }: Observed,
  { target }: Decision,
  { seen, awaited, message }: Extract<Verdict, { kind: 'failed' }>,
): Finding {
  const { activeRevision } = resource.status ?? {};
  const number = seen ? (awaitedBy(target) ?? target.revision)?.number : failureOf(target)?.failed.number;
  const inPlace = activeRevision !== undefined && number === activeRevision.number;
  const what = inPlace ? `the change of ${revisionName(number)}` : revisionName(number ?? 0);
  const why = `${what} failed: ${message}`;
  if (seen) return no('RolloutFailed', why);
  if (isUntouched(target)) {
    const gone = `the stored templates of ${revisionName(activeRevision?.number ?? 0)} are gone`;
    return no('RolloutFailed', `${why}; ${gone}: running pods are not changed until the next revision`);
  }
  if (target.kind === 'inspection')
    return no(
      'RolloutFailed',
      target.templates === null ? `${why}; no pods run` : `${why}; its pods are kept for inspection`,
    );
  const before = inPlace ? 'what ran before' : revisionName(target.revision?.number ?? 0);
  const back = `${before} runs again: ${why}${ofWhatServes(target)}`;
  if (awaited === null) return no('RolledBack', back);
  // The rollback was already complete, so the parts that are missing now do not belong to it.
  const wasBack = conditionOf(resource, 'Progressing')?.reason === 'RolledBack';
  return wasBack
    ? no('RolledBack', `${back}; ${awaited}`)
    : no('RolloutFailed', `${why}; ${before} is being restored: ${awaited}`);
}

/** Note about the source_config of the active revision after a later revision failed. */
export function ofWhatServes(target: Target): string {
  const name = revisionName(target.revision?.number ?? 0);
  const failedChange = failureOf(target)?.failedChange ?? null;
  if (failedChange !== null) return `; the change of ${name} also failed: ${failedChange.message}`;
  const isKept = target.kind === 'restored' && target.held;
  return isKept ? `; ${name} keeps its source_config until the next change of it` : '';
}

/** Name of a revision in messages. */
export function revisionName(number: number): string {
  return `revision ${number}`;
}

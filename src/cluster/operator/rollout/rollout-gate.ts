import { newServicesMissing, servicesMissing } from '../decide/services-in-use.ts';
import type { Observed } from '../observed.ts';
import { pendingRelease } from '../releases/decide-release.ts';
import {
  type ActiveTarget,
  type AwaitingRevision,
  isSame,
  type RevisionRef,
  type RolloutTarget,
  revisionOf,
} from './target.ts';
import { running, type Templates } from './template-selection.ts';

/**
 * Minimum age of a rollout before a newer rollout replaces it, so that fifty quick changes cause only a few rollouts.
 */
export const TAKEOVER_PAUSE_MS = 3_000;

/** An active target that is the desired revision. */
const NOTHING_ELSE = { failure: null, served: null, awaits: null, untouched: false } as const;

/**
 * The target for templates that have not failed. The current target remains while the current rollout is too young, or
 * while the new revision waits for its own database or cache, or for its release command.
 */
export function gateRollout(
  observed: Observed,
  wanted: Templates & { readonly name: string },
  revision: RevisionRef,
  now: Date,
): ActiveTarget | RolloutTarget {
  const { activeRevision, rollout } = observed.resource.status ?? {};
  const held = heldRollout(observed, wanted.name, now);
  if (held !== null) return held;
  const isActive =
    activeRevision !== undefined &&
    wanted.name === activeRevision.templates &&
    isSame(activeRevision, revision);
  const runs = { ...wanted, revision: revisionOf(revision), heldUntil: null, instead: null };
  const target: ActiveTarget | RolloutTarget = isActive
    ? { ...runs, ...NOTHING_ELSE, kind: 'active' }
    : { ...runs, kind: 'rollout' };
  const active = observed.storedTemplates.find(({ name }) => name === activeRevision?.templates);
  const isUnderWay = rollout !== undefined && isSame(rollout, revision);
  if (isUnderWay) return target;
  const { services, release } = waitOf(observed, wanted, target);
  if (activeRevision === undefined || active === undefined) {
    if (release === null || target.kind !== 'rollout') return target;
    return { ...target, release };
  }
  if (services.length === 0 && release === null) return target;
  return {
    ...running(active),
    ...NOTHING_ELSE,
    kind: 'active',
    revision: revisionOf(activeRevision),
    heldUntil: null,
    instead: null,
    served: activeRevision,
    awaits: { ...revisionOf(revision), templates: wanted.name, store: wanted.store, services, release },
  };
}

const WAITS_FOR_SERVICES = { kind: 'waiting', message: 'database and cache are not ready yet' } as const;

/**
 * What a revision waits for. Without a release command, only for services that the active revision does not use. The release
 * command may use all services.
 */
function waitOf(
  observed: Observed,
  wanted: Templates & { readonly name: string },
  target: ActiveTarget | RolloutTarget,
): Pick<AwaitingRevision, 'services' | 'release'> {
  const isNew = target.kind === 'rollout' && isSame(target.revision, observed.resource.spec.revision);
  const release = isNew ? pendingRelease(observed, wanted) : null;
  if (release === null)
    return { services: newServicesMissing(observed, target.templates ?? {}), release: null };
  const services = servicesMissing(observed, target);
  return { services, release: services.length === 0 ? release : WAITS_FOR_SERVICES };
}

/** The current rollout if it is too young to be replaced by `wanted`; otherwise null. */
function heldRollout(observed: Observed, wanted: string | null, now: Date): RolloutTarget | null {
  const { rollout, activeRevision } = observed.resource.status ?? {};
  if (rollout === undefined || rollout.templates === wanted) return null;
  const stored = observed.storedTemplates.find(({ name }) => name === rollout.templates);
  if (stored === undefined || stored.name === activeRevision?.templates) return null;
  const startedAt = Date.parse(rollout.templatesChangeTime ?? rollout.startTime);
  const age = now.getTime() - startedAt;
  // A start in the future, from the clock of another process, causes no delay.
  if (!(age >= 0 && age < TAKEOVER_PAUSE_MS)) return null;
  return {
    ...running(stored),
    kind: 'rollout',
    revision: revisionOf(rollout),
    heldUntil: startedAt + TAKEOVER_PAUSE_MS,
    instead: null,
  };
}

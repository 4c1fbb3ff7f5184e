import type { ManagedDeploymentStatus } from '../contract/managed-deployment.ts';
import type { RenderConfig } from '../contract/render-config.ts';
import { APP_CONTAINER_NAME } from '../domain/reserved.ts';
import { COMPONENTS, type Component } from '../domain/resource-spec.ts';
import { unsupportedByCluster } from '../workloads/cluster-support.ts';
import type { KubeObject, PodTemplates } from '../workloads/desired-object.ts';
import { storedTemplatesName } from '../workloads/names.ts';
import { renderTemplates } from '../workloads/pod-template.ts';
import { markTemplates, storedTemplates } from '../workloads/stored-templates.ts';
import { templateInputsHash } from '../workloads/template-inputs.ts';
import type { ActiveRevision, Observed, ObservedResource, ObservedTemplates } from './observed.ts';

/** The pod templates that the components are to run now, and why these. */
export interface Target {
  /**
   * `active`: what already serves. `rollout`: on its way to become active.
   * `off`: switched off; `no-revision`: there is nothing to run yet.
   * `restored`: what is wanted has failed, and what was active before is to run again, exactly as it was.
   * `inspection`: it has failed and nothing was active before: one pod of each component stays to be looked at.
   */
  readonly kind: 'active' | 'rollout' | 'off' | 'no-revision' | 'restored' | 'inspection';
  /** ControllerRevision that holds the templates; null: none. */
  readonly name: string | null;
  /** null: no component is to be there. */
  readonly templates: PodTemplates | null;
  /** Revision that the templates are of. */
  readonly revision: { readonly id?: string; readonly number: number } | null;
  /** The ControllerRevision to make before the templates may run; null: it is there. */
  readonly store: KubeObject | null;
  /** The failure of what is wanted, which nothing tries again by itself; null: it has not failed. */
  readonly failed: FailedRevision | null;
  /** Something newer is wanted, and waits until then (ms since the epoch) for the rollout under way; null: no. */
  readonly heldUntil: number | null;
}

export type FailedRevision = NonNullable<ManagedDeploymentStatus['failedRevision']>;

/** A rollout is left alone this long before a newer one takes over: fifty changes in a row make a few rollouts. */
export const TAKEOVER_PAUSE_MS = 3_000;

/**
 * Chooses the target.
 * - Off, or no image yet: the active revision's templates (with no pods, when off), or nothing.
 * - The stored templates of the wanted revision and inputs; rendered and stored first where there are none. So an
 *   operator that renders differently restarts nothing, and a change back finds the old templates.
 * - Where these have failed: the active revision's stored templates again, byte for byte, so that its ReplicaSets return.
 */
export function chooseTarget(observed: Observed, config: RenderConfig, now: Date): Target {
  const { resource } = observed;
  const { activeRevision } = resource.status ?? {};
  const active = observed.storedTemplates.find(({ name }) => name === activeRevision?.templates);
  if (resource.spec.suspend || resource.spec.revision.image === undefined) {
    const kind = resource.spec.suspend ? 'off' : active === undefined ? 'no-revision' : 'active';
    const revision = active === undefined ? null : (activeRevision ?? null);
    const failed = standingFailure(resource);
    return { ...running(active), kind, revision: revisionOf(revision), failed, heldUntil: null };
  }
  const wanted = wantedTemplates(observed, config);
  const failed =
    failureOf(resource, wanted.name) ?? knownFailure(resource) ?? refusal(resource, wanted, config);
  if (failed !== null) return afterFailure(observed, failed);
  const held = heldRollout(observed, wanted.name, now);
  if (held !== null) return held;
  const isActive = wanted.name === activeRevision?.templates && isRevision(resource, activeRevision);
  return {
    ...wanted,
    kind: isActive ? 'active' : 'rollout',
    revision: revisionOf(resource.spec.revision),
    failed: null,
    heldUntil: null,
  };
}

/**
 * The recorded failure of what is wanted, kept while it is switched off: what it comes to with no pods (a share of the
 * database's connections) is not what will be tried when it is on again.
 */
function standingFailure(resource: ObservedResource): FailedRevision | null {
  const { failedRevision } = resource.status ?? {};
  return failedRevision !== undefined && isRevision(resource, failedRevision) ? failedRevision : null;
}

/**
 * The recorded failure, if it is one of what is wanted now. A revision that was never active has failed for good, with
 * whatever source_config: `redeploy` makes another one of the same content. A change in place, and a resource without a
 * record, has failed with exactly these templates: the next change is tried.
 */
function failureOf(resource: ObservedResource, wanted: string | null): FailedRevision | null {
  const { failedRevision: failed, activeRevision } = resource.status ?? {};
  if (failed === undefined || !isRevision(resource, failed)) return null;
  const inPlace = activeRevision !== undefined && isRevision(resource, activeRevision);
  return !inPlace && failed.id !== undefined ? failed : failed.templates === wanted ? failed : null;
}

/** The failure that the hub knows of, where no status does: what has served before comes first, with no second try. */
function knownFailure({ spec, status }: ObservedResource): FailedRevision | null {
  const { failed, revision, generation } = spec;
  if (failed === undefined || status?.activeRevision !== undefined || status?.failedRevision !== undefined)
    return null;
  const { reason, message } = failed;
  const { id, number } = revision;
  return { ...(id === undefined ? { number } : { id, number }), reason, message, generation };
}

/** What this cluster is too old for fails before anything of it is sent: the API server would refuse it, or drop fields. */
function refusal(resource: ObservedResource, wanted: Templates, config: RenderConfig): FailedRevision | null {
  const unsupported = unsupportedByCluster(resource, config);
  if (unsupported.length === 0 || wanted.name === null || runsAlready(resource, wanted.name)) return null;
  const { id, number } = resource.spec.revision;
  const why = unsupported.map(({ resourcePath, message }) => `${resourcePath}: ${message}`).join('; ');
  // Without templates, which were never stored: the next ones may get their name.
  return {
    ...(id === undefined ? { number } : { id, number }),
    reason: 'Refused',
    message: `${why}; change it${id === undefined ? '' : ', then redeploy'}`,
    generation: resource.spec.generation,
  };
}

function runsAlready({ status }: ObservedResource, templates: string): boolean {
  return status?.activeRevision?.templates === templates;
}

function afterFailure(observed: Observed, failed: FailedRevision): Target {
  const { resource, storedTemplates } = observed;
  const storedAs = (name: string | undefined) => storedTemplates.find((stored) => stored.name === name);
  const tried = storedAs(failed.templates);
  const active = resource.status?.activeRevision ?? tried?.former() ?? activeByRecord(observed);
  const former = storedAs(active?.templates);
  if (active !== null && former !== undefined) {
    return { ...running(former), kind: 'restored', revision: revisionOf(active), failed, heldUntil: null };
  }
  // Somebody may have deleted what was stored of the active revision: what runs of it is left alone.
  return { ...running(tried), kind: 'inspection', revision: revisionOf(failed), failed, heldUntil: null };
}

/**
 * What was active by the hub's record. A custom resource that was lost and made again has no status: which of the
 * revision's templates it was stands with those that were tried after it; without these, the newest of them.
 */
function activeByRecord({ resource: { spec }, storedTemplates }: Observed): ActiveRevision | null {
  const active = spec.failed?.activeRevision;
  if (active === undefined) return null;
  const ofRevision = (number: number) =>
    newestFirst(storedTemplates.filter(({ revisionNumber }) => revisionNumber === number));
  const formers = ofRevision(spec.revision.number).map((tried) => tried.former());
  const known = formers.find((former) => former?.id === active.id && former?.number === active.number);
  if (known) return known;
  const [newest] = ofRevision(active.number);
  return newest === undefined ? null : { ...active, templates: newest.name };
}

type Templates = Pick<Target, 'name' | 'templates' | 'store'>;

function running(stored: ObservedTemplates | undefined): Templates {
  return { name: stored?.name ?? null, templates: stored?.templates() ?? null, store: null };
}

function revisionOf(revision: { id?: string; number: number } | null): Target['revision'] {
  if (revision === null) return null;
  const { id, number } = revision;
  return id === undefined ? { number } : { id, number };
}

function isRevision(resource: ObservedResource, revision: { id?: string; number: number }): boolean {
  const wanted = resource.spec.revision;
  return wanted.id === revision.id && wanted.number === revision.number;
}

/** Stored templates of the wanted revision and inputs, else freshly rendered ones. */
function wantedTemplates(observed: Observed, config: RenderConfig): Templates {
  const { resource, storedTemplates: all } = observed;
  const inputsHash = templateInputsHash(resource);
  const fitting = all.filter(
    (stored) => stored.revisionNumber === resource.spec.revision.number && stored.inputsHash === inputsHash,
  );
  const inUse = [resource.status?.rollout?.templates, resource.status?.activeRevision?.templates];
  const stored = fitting.find(({ name }) => inUse.includes(name)) ?? newest(fitting);
  if (stored !== undefined) return running(stored);
  const templates = markTemplates(renderTemplates(resource, config));
  const attempt = freeAttempt(resource, all);
  return {
    name: storedTemplatesName(resource, attempt),
    templates,
    store: storedTemplates(resource, templates, attempt),
  };
}

function freeAttempt(resource: ObservedResource, all: readonly ObservedTemplates[]): number {
  const taken = new Set(all.map(({ name }) => name));
  let attempt = 1;
  while (taken.has(storedTemplatesName(resource, attempt))) attempt += 1;
  return attempt;
}

/** Stored templates, newest first. */
export function newestFirst(all: readonly ObservedTemplates[]): ObservedTemplates[] {
  return [...all].sort(
    (a, b) =>
      b.revisionNumber - a.revisionNumber ||
      compareText(b.createdAt, a.createdAt) ||
      // Made in the same second: `app-1-10` after `app-1-9`.
      b.name.length - a.name.length ||
      compareText(b.name, a.name),
  );
}

function newest(all: readonly ObservedTemplates[]): ObservedTemplates | undefined {
  return newestFirst(all)[0];
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The rollout under way, where it is too young to be replaced by `wanted`. */
function heldRollout(observed: Observed, wanted: string | null, now: Date): Target | null {
  const { rollout, activeRevision } = observed.resource.status ?? {};
  if (rollout === undefined || rollout.templates === wanted) return null;
  const stored = observed.storedTemplates.find(({ name }) => name === rollout.templates);
  if (stored === undefined || stored.name === activeRevision?.templates) return null;
  const startedAt = Date.parse(rollout.startedAt);
  const age = now.getTime() - startedAt;
  // A start in the future (another process's clock) holds nothing up.
  if (!(age >= 0 && age < TAKEOVER_PAUSE_MS)) return null;
  return {
    ...running(stored),
    kind: 'rollout',
    revision: revisionOf(rollout),
    failed: null,
    heldUntil: startedAt + TAKEOVER_PAUSE_MS,
  };
}

/** Components that the target has, in order. */
export function componentsOf(target: Target): Component[] {
  return COMPONENTS.filter((component) => target.templates?.[component] !== undefined);
}

/** Image that the target's app containers run. */
export function imageOf(target: Target): string | undefined {
  const containers = target.templates?.api?.spec?.containers ?? [];
  return containers.find(({ name }) => name === APP_CONTAINER_NAME)?.image;
}

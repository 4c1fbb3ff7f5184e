import type { RenderConfig } from '../../../contract/render/render-config.ts';
import type { KubeObject, PodTemplates } from '../../../workloads/desired-object.ts';
import { storedTemplatesName } from '../../../workloads/names.ts';
import { renderTemplates } from '../../../workloads/objects/pod-template.ts';
import { sameMeaning } from '../../../workloads/same-template.ts';
import { markTemplates, storedTemplates } from '../../../workloads/stored-templates.ts';
import { isTemplateInputsHash } from '../../../workloads/template-inputs.ts';
import { imageToRun, withImage } from '../images/revision-image.ts';
import type { Observed, ObservedResource, ObservedTemplates } from '../observed.ts';
import { newestFirst } from '../observed.ts';
import { hasSecretMarker, secretMarker, withSecretMarker } from './secret-markers.ts';

/** Pod templates of a target. */
export interface Templates {
  /** ControllerRevision that holds the templates; null: no ControllerRevision holds them. */
  readonly name: string | null;
  /** null: no component is desired. */
  readonly templates: PodTemplates | null;
  /** The ControllerRevision to create before the templates may run; null: it exists. */
  readonly store: KubeObject | null;
}

/** The stored templates in the form of a target's templates. `undefined`: no component is desired. */
export function running(stored: ObservedTemplates | undefined): Templates {
  return { name: stored?.name ?? null, templates: stored?.templates() ?? null, store: null };
}

/**
 * The stored templates for the revision, the inputs of the resource and the values of its referenced Secrets, or newly
 * rendered templates if no templates are stored.
 */
export function wantedTemplates(
  resource: ObservedResource,
  observed: Observed,
  config: RenderConfig,
): Templates & { readonly name: string } {
  const { storedTemplates: all } = observed;
  const marker = secretMarker(resource, observed);
  const fitting = all.filter(
    (stored) =>
      stored.revisionNumber === resource.spec.revision.number &&
      isTemplateInputsHash(resource, stored.inputsHash) &&
      hasSecretMarker(stored, marker),
  );
  const inUse = [resource.status?.rollout?.templates, resource.status?.activeRevision?.templates];
  const stored = fitting.find(({ name }) => inUse.includes(name)) ?? newestFirst(fitting)[0];
  if (stored !== undefined) return { ...running(stored), name: stored.name };
  const image = imageToRun(resource, observed);
  const rendered = markTemplates(
    withSecretMarker(renderTemplates(withImage(resource, image), config), marker),
  );
  const templates = asRunning(
    rendered,
    all.filter(({ name }) => inUse.includes(name)),
  );
  const attempt = freeAttempt(resource, all);
  return {
    name: storedTemplatesName(resource, attempt),
    templates,
    store: storedTemplates(resource, templates, attempt, image),
  };
}

/** Replaces rendered templates by the running templates if both have the same meaning, so that no pod is restarted. */
function asRunning(rendered: PodTemplates, running: readonly ObservedTemplates[]): PodTemplates {
  const before = running.flatMap((stored) => {
    try {
      return [stored.templates()];
    } catch {
      // The object cannot be parsed, because another client has edited it. No pod runs from a ControllerRevision that
      // cannot be parsed.
      return [];
    }
  });
  return Object.fromEntries(
    Object.entries(rendered).map(([component, template]) => {
      const known = before.map((templates) => templates[component as keyof PodTemplates]);
      return [component, known.find((other) => other && sameMeaning(other, template)) ?? template];
    }),
  );
}

/**
 * Names of failed templates count as taken even if the templates were deleted, so that other templates are not mistaken
 * for them.
 */
export function freeAttempt(resource: ObservedResource, all: readonly ObservedTemplates[]): number {
  const { failedRevision, failedChange } = resource.status ?? {};
  const taken = new Set([
    ...all.map(({ name }) => name),
    ...[failedRevision, failedChange].flatMap((failed) => failed?.templates ?? []),
  ]);
  let attempt = 1;
  while (taken.has(storedTemplatesName(resource, attempt))) attempt += 1;
  return attempt;
}

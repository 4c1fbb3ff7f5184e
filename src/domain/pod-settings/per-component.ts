import { z } from 'zod';
import { isObject } from '../core/is-object.ts';
import { COMPONENTS, type Component } from '../resource-spec/components.ts';
import { withoutNulls } from '../resource-spec/resource-spec-input.ts';

/** Settings with one value for each component. */
export type PerComponent<T> = { readonly [C in Component]?: T | undefined };

/** Removes null inside the value of a component. null as the value itself clears it, so it stays. */
function normalized(input: unknown): unknown {
  if (!isObject(input)) return input;
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, value === null ? null : withoutNulls(value)]),
  );
}

const DESCRIPTIONS: Readonly<Record<Component, string>> = {
  api: 'Value for the component api.',
  queue: 'Value for the component queue.',
  orchestrator: 'Value for the component orchestrator.',
  executor: 'Value for the component executor.',
};

function shapeOf<S extends z.ZodType>(each: (description: string) => S): Record<Component, S> {
  const entries = COMPONENTS.map((name) => [name, each(DESCRIPTIONS[name])] as const);
  return Object.fromEntries(entries) as Record<Component, S>;
}

/** The schema for requests. A component that is absent or null has no value. */
export const sentPerComponent = <S extends z.ZodType>(schema: S, description: string) =>
  z
    .preprocess(normalized, z.strictObject(shapeOf((about) => schema.nullish().describe(about))))
    .nullish()
    .describe(description);

/** The schema for responses. A component without a value is absent. */
export const shownPerComponent = <S extends z.ZodType>(schema: S, description: string) =>
  z
    .object(shapeOf((about) => schema.optional().describe(about)))
    .optional()
    .describe(description);

type Sent = { readonly [C in Component]?: unknown };

/** Only the components with a value, in the order of the contract. undefined: no component has one. */
export function withValues(settings: Sent): Sent | undefined {
  const given = COMPONENTS.filter((name) => settings[name] != null).map((name) => [name, settings[name]]);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** Merges the settings of a PATCH by component. null clears all of them, or those of a component. */
export function mergeComponents(stored: Sent | undefined, sent: Sent | null | undefined): Sent | undefined {
  if (sent === undefined) return stored;
  return sent === null ? undefined : withValues({ ...stored, ...dropUndefined(sent) });
}

const dropUndefined = (sent: Sent): Sent =>
  Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined));

/** The settings of a PUT as a PATCH: absent components are cleared. */
export function allComponents(sent: Sent | null | undefined): Sent | null {
  if (sent == null) return null;
  return Object.fromEntries(COMPONENTS.map((name) => [name, sent[name] ?? null]));
}

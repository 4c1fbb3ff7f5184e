import type { Deployment } from '../api/types.ts';
import type { JsonObject } from '../form/json.ts';

/** The numbers of pods of the components. */

const COMPONENTS = [
  { component: 'api', min: 'min_scale', max: 'max_scale' },
  { component: 'queue', min: 'queue_min_scale', max: 'queue_max_scale' },
  { component: 'orchestrator', min: 'orchestrator_min_scale', max: 'orchestrator_max_scale' },
] as const;

export type ScaleField = (typeof COMPONENTS)[number]['min' | 'max'];
export type ScaleTexts = Readonly<Partial<Record<ScaleField, string>>>;

/** The components that the deployment has, with the numbers that it uses. */
export function scalesOf({ effective_resource_spec: effective }: Deployment) {
  return COMPONENTS.filter(({ max }) => effective[max] != null).map((fields) => ({
    ...fields,
    current: { min: String(effective[fields.min]), max: String(effective[fields.max]) },
  }));
}

/** The change of the numbers that were typed. A text that is not a number is sent as it is, so that the API rejects it. */
export function scalePatch(deployment: Deployment, texts: ScaleTexts): JsonObject {
  const current = new Map<string, string>(
    scalesOf(deployment).flatMap(({ min, max, current: { min: least, max: most } }) => [
      [min, least],
      [max, most],
    ]),
  );
  const changed = Object.entries(texts).filter(([field, text]) => text.trim() !== current.get(field));
  const spec = Object.fromEntries(
    changed.map(([field, text]) => [field, /^\d+$/.test(text.trim()) ? Number(text) : text]),
  );
  return changed.length === 0 ? {} : { source_config: { resource_spec: spec } };
}

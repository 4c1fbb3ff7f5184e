/** Defaults of resource_spec, which the forms of the console show next to the fields. */
import { DEPLOYMENT_TYPES } from '../../src/domain/deployment/source.ts';
import { effectiveSpec } from '../../src/domain/resource-spec/effective-spec.ts';

const TYPES = [null, ...DEPLOYMENT_TYPES] as const;

/** The text of src/console/edit/defaults.gen.json: defaults for each deployment_type. Without a type, the key is empty. */
export function defaultsText(): string {
  const byType = TYPES.map((type) => {
    const numbers = Object.entries(effectiveSpec({}, type)).filter(([, value]) => typeof value === 'number');
    return [type ?? '', Object.fromEntries(numbers)] as const;
  });
  return `${JSON.stringify(Object.fromEntries(byType), null, 2)}\n`;
}

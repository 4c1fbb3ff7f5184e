import type { Deployment } from '../api/types.ts';
import type { Hint } from '../form/form-context.ts';
import type { Json, Path } from '../form/json.ts';

/** Defaults next to the fields: what the deployment uses for a field of resource_spec that is not set. */
export function hintsOf({ effective_resource_spec: effective, source_config: config }: Deployment) {
  const spec: Readonly<Record<string, unknown>> = config.resource_spec ?? {};
  const values = effective as unknown as Readonly<Record<string, Json>>;
  return (path: Path): Hint => {
    const [part, group, name] = path;
    if (part !== 'source_config' || group !== 'resource_spec' || path.length !== 3) return {};
    const value = values[String(name)];
    const isSet = spec[String(name)] != null;
    return isSet || value === undefined || typeof value === 'object' ? {} : { fallback: value };
  };
}

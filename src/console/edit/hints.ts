import type { Deployment, Policy } from '../api/types.ts';
import type { Hint } from '../form/form-context.ts';
import type { Json, JsonObject, Path } from '../form/json.ts';
import { valueAt } from '../form/json.ts';
import { capOf } from './caps.ts';
import generated from './defaults.gen.json' with { type: 'json' };

/** Defaults of resource_spec for each deployment_type. */
const DEFAULTS = generated as unknown as Readonly<Record<string, JsonObject>>;

/** The field of resource_spec at a path; null: the path is another one. */
function specField(path: Path): string | null {
  const [part, group, name] = path;
  return part === 'source_config' && group === 'resource_spec' && path.length === 3 ? String(name) : null;
}

/** Limits follow the request of the same resource. Their descriptions say so. */
const isLimit = (name: string) => /_limit(_mb)?$/.test(name);

/** What the deployment uses for a field that is not set; undefined: the field is set, or its component does not exist. */
function valueInUse({ effective_resource_spec: effective, source_config: config }: Deployment, name: string) {
  const spec: Readonly<Record<string, unknown>> = config.resource_spec ?? {};
  return spec[name] == null ? (effective as unknown as Readonly<Record<string, Json>>)[name] : undefined;
}

interface HintSources {
  /** null: it does not exist yet. */
  readonly deployment: Deployment | null;
  /** What was typed. Its deployment_type decides defaults and caps. null: it cannot be read. */
  readonly document: JsonObject | null;
  /** null: not known. */
  readonly policy: Policy | null;
}

/** Hints next to the fields of resource_spec. */
export function hintsOf({ deployment, document, policy }: HintSources) {
  const typed = valueAt(document ?? {}, ['source_config', 'deployment_type']);
  const type = typeof typed === 'string' ? typed : '';
  const isOtherType = deployment !== null && (deployment.source_config.deployment_type ?? '') !== type;
  return (path: Path): Hint => {
    const name = specField(path);
    if (name === null) return {};
    const inUse = deployment === null || isOtherType ? undefined : valueInUse(deployment, name);
    const fallback = inUse ?? (isLimit(name) ? undefined : DEFAULTS[type]?.[name]);
    const maximum = policy === null ? undefined : capOf(policy, type, name);
    return {
      ...(fallback === undefined || typeof fallback === 'object' ? {} : { fallback }),
      ...(maximum === undefined ? {} : { maximum }),
    };
  };
}

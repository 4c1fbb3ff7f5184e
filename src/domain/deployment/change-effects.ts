import { effectiveSpec, isOff } from '../resource-spec/effective-spec.ts';
import type { EffectiveResourceSpec } from '../resource-spec/effective-spec-schema.ts';
import type { SourceConfig } from './deployment.ts';

/** States the effects of a change of source_config on data services, as sentences for the user. */

const DATABASE_FIELDS = ['db_cpu', 'db_cpu_limit', 'db_memory_mb', 'db_memory_limit_mb'] as const;
const CACHE_FIELDS = ['cache_cpu', 'cache_cpu_limit', 'cache_memory_mb'] as const;

/** The data services that Berth does not run, because the tenant provides them or has switched them off. */
export interface ExternalServices {
  readonly database: boolean;
  readonly cache: boolean;
}

type Field = keyof EffectiveResourceSpec;

/**
 * The effective spec before the change (`from`), after it (`to`), and after it with the policy values that were stored
 * before (`alone`).
 */
interface Outcome {
  readonly from: EffectiveResourceSpec;
  readonly to: EffectiveResourceSpec;
  readonly alone: EffectiveResourceSpec;
}

const isChanged = (field: Field, { from, to }: Outcome) => from[field] !== to[field];
const changeOf = (field: Field, { from, to }: Outcome) =>
  `${field} changes from ${from[field]} to ${to[field]}`;

function differences(fields: readonly Field[], outcome: Outcome): string[] {
  return fields
    .filter((field) => isChanged(field, outcome))
    .map((field) =>
      outcome.alone[field] === outcome.to[field]
        ? changeOf(field, outcome)
        : `${changeOf(field, outcome)}, which follows from caps in the policy of the platform`,
    );
}

/** The policy entry that changes the stored number of connections. */
const connectionEntry = (before: SourceConfig, after: SourceConfig): string =>
  before.default_ceilings?.min_db_connections === after.default_ceilings?.min_db_connections
    ? 'caps.db_connections'
    : 'database.min_connections';

/**
 * The effect on the number of connections, which is derived from the scales or the policy if it is not specified. A
 * change of this number also restarts the database.
 */
function connectionEffect(before: SourceConfig, after: SourceConfig, outcome: Outcome): string[] {
  const field = 'db_max_connections';
  if (!isChanged(field, outcome)) return [];
  const change = changeOf(field, outcome);
  if (after.resource_spec?.db_max_connections != null) return [change];
  const { from, to, alone } = outcome;
  const policy = `${connectionEntry(before, after)} in the policy of the platform`;
  const toKeep = 'set db_max_connections to the number that the largest scale needs';
  if (alone[field] === to[field])
    return [`${change}, which follows from the scales (to scale without a restart, ${toKeep})`];
  return alone[field] === from[field]
    ? [`${change}, which follows from ${policy}, not from the request (to choose the number, set ${field})`]
    : [`${change}, which follows from the scales and from ${policy} (to choose the number, ${toKeep})`];
}

const effectiveOf = ({
  resource_spec: spec,
  deployment_type: type,
  default_ceilings: ceilings,
}: SourceConfig) => effectiveSpec(spec ?? {}, type, ceilings);

/** States which data services a change restarts, and why. Empty while the deployment is switched off. */
export function changeEffects(
  before: SourceConfig,
  after: SourceConfig,
  external: ExternalServices,
): string[] {
  if (isOff(before.resource_spec ?? {}) || isOff(after.resource_spec ?? {})) return [];
  const outcome: Outcome = {
    from: effectiveOf(before),
    to: effectiveOf(after),
    alone: effectiveOf({ ...after, default_ceilings: before.default_ceilings }),
  };
  const database = external.database
    ? []
    : [...connectionEffect(before, after, outcome), ...differences(DATABASE_FIELDS, outcome)];
  const cache = external.cache ? [] : differences(CACHE_FIELDS, outcome);
  return [
    ...(database.length === 0 ? [] : [`The database restarts: ${database.join('; ')}.`]),
    ...(cache.length === 0 ? [] : [`The cache restarts and loses its content: ${cache.join('; ')}.`]),
  ];
}

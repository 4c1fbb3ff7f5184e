import type { SourceConfig } from './deployment.ts';
import { effectiveSpec, isOff } from './effective-spec.ts';
import type { EffectiveResourceSpec } from './effective-spec-schema.ts';

/** What a change of source_config does to data services: sentences for whoever made it. */

const DATABASE_FIELDS = ['db_cpu', 'db_cpu_limit', 'db_memory_mb', 'db_memory_limit_mb'] as const;
const CACHE_FIELDS = ['cache_cpu', 'cache_cpu_limit', 'cache_memory_mb'] as const;

/** Data services that the tenant brings, and that Berth does not run. */
export interface ExternalServices {
  readonly database: boolean;
  readonly cache: boolean;
}

type Field = keyof EffectiveResourceSpec;

function differences(
  fields: readonly Field[],
  before: EffectiveResourceSpec,
  after: EffectiveResourceSpec,
): string[] {
  return fields
    .filter((field) => before[field] !== after[field])
    .map((field) => `${field} changes from ${before[field]} to ${after[field]}`);
}

/** Connections that follow from the scales restart a database that nobody wanted to change. */
function connectionEffect(
  { resource_spec: spec }: SourceConfig,
  before: EffectiveResourceSpec,
  after: EffectiveResourceSpec,
): string[] {
  const [change] = differences(['db_max_connections'], before, after);
  if (change === undefined) return [];
  return spec?.db_max_connections == null
    ? [
        `${change}, which follows from the scales (to scale without a restart, set db_max_connections to what the largest scale needs)`,
      ]
    : [change];
}

const effectiveOf = ({
  resource_spec: spec,
  deployment_type: type,
  default_ceilings: ceilings,
}: SourceConfig) => effectiveSpec(spec ?? {}, type, ceilings);

/** Which data services a change restarts, and why; nothing while the deployment is switched off. */
export function changeEffects(
  before: SourceConfig,
  after: SourceConfig,
  external: ExternalServices,
): string[] {
  if (isOff(before.resource_spec ?? {}) || isOff(after.resource_spec ?? {})) return [];
  const [from, to] = [effectiveOf(before), effectiveOf(after)];
  const database = external.database
    ? []
    : [...connectionEffect(after, from, to), ...differences(DATABASE_FIELDS, from, to)];
  const cache = external.cache ? [] : differences(CACHE_FIELDS, from, to);
  return [
    ...(database.length === 0 ? [] : [`The database restarts: ${database.join('; ')}.`]),
    ...(cache.length === 0 ? [] : [`The cache restarts and loses what it holds: ${cache.join('; ')}.`]),
  ];
}

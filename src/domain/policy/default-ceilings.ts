import type { SourceConfig } from '../deployment/deployment.ts';
import { bendNothing, type Ceilings, effectiveSpec } from '../resource-spec/effective-spec.ts';
import { type Caps, capsFor, type Policy } from './policy.ts';

/** A cap in fractions of a core bends fields in whole cores to the whole ones of it; a request is one at least. */
function ceilingsOf({ cpu, memory_mb, db_connections }: Caps, least: number): Ceilings {
  const whole = Number.isInteger(cpu) ? {} : { whole_cpu: Math.max(1, Math.floor(cpu)) };
  return { cpu, memory_mb, db_connections, ...whole, ...(least > 0 ? { min_db_connections: least } : {}) };
}

/**
 * source_config as it is stored under this policy: defaults that follow from what was sent bend to its caps. The caps
 * that bend one are stored with it, so that a later policy, or another process with another one, changes no pod of what
 * is stored; they are set anew whenever the policy is asked.
 */
export function withDefaultCeilings(sourceConfig: SourceConfig, policy: Policy): SourceConfig {
  const { default_ceilings: _former, ...config } = sourceConfig;
  const { resource_spec: spec, deployment_type: type } = config;
  const ceilings = ceilingsOf(capsFor(policy, type), policy.database.min_connections);
  if (bendNothing(ceilings)) return config;
  const bent = effectiveSpec(spec ?? {}, type, ceilings);
  const free = effectiveSpec(spec ?? {}, type);
  // Both have their members in one order.
  return JSON.stringify(bent) === JSON.stringify(free) ? config : { ...config, default_ceilings: ceilings };
}

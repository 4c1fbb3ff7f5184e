import type { SourceConfig } from '../deployment/deployment.ts';
import { bendNothing, type Ceilings, effectiveSpec } from '../resource-spec/effective-spec.ts';
import { type Caps, capsFor, type Policy } from './policy.ts';

/**
 * The limits of defaults, from the caps of a policy. For fields in whole cores, a fractional CPU cap is rounded down,
 * to at least one core.
 */
function ceilingsOf({ cpu, memory_mb, db_connections }: Caps, least: number): Ceilings {
  const whole = Number.isInteger(cpu) ? {} : { whole_cpu: Math.max(1, Math.floor(cpu)) };
  return { cpu, memory_mb, db_connections, ...whole, ...(least > 0 ? { min_db_connections: least } : {}) };
}

/**
 * source_config as it is stored under this policy. The caps of the policy limit defaults that are derived from sent
 * values. The effective caps are stored with source_config, so that another policy does not change pods of stored
 * deployments. Each change that the policy checks stores the current caps.
 */
export function withDefaultCeilings(sourceConfig: SourceConfig, policy: Policy): SourceConfig {
  const { default_ceilings: _former, ...config } = sourceConfig;
  const { resource_spec: spec, deployment_type: type } = config;
  const ceilings = ceilingsOf(capsFor(policy, type), policy.database.min_connections);
  if (bendNothing(ceilings)) return config;
  const bent = effectiveSpec(spec ?? {}, type, ceilings);
  const free = effectiveSpec(spec ?? {}, type);
  // Both texts have the same order of members.
  return JSON.stringify(bent) === JSON.stringify(free) ? config : { ...config, default_ceilings: ceilings };
}

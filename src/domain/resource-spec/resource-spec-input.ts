import { z } from 'zod';
import { isObject } from '../core/is-object.ts';
import { milliCpu, RESOURCE_SPEC_FIELDS, resourceSpecSchema, withoutFloatNoise } from './resource-spec.ts';

/**
 * Normalizes resource_spec from clients, so that other code need not handle the following variants. Inside containers,
 * volumes and mounts, null means absent, because typed clients send every member. Quantities may be JSON numbers, as in
 * the Kubernetes API. Cores may have the rounding error of binary fractions (0.1 + 0.2 is 0.30000000000000004).
 */

export const NESTED_FIELDS: ReadonlySet<string> = new Set([
  'image_pull_secrets',
  'volumes',
  'volume_mounts',
  'init_containers',
  'sidecars',
]);
export const QUANTITY_MAPS: ReadonlySet<string> = new Set(['limits', 'requests']);
export const QUANTITIES: ReadonlySet<string> = new Set(['sizeLimit', 'divisor']);
/** Fields of resource_spec in cores, including fields in whole cores. */
const CORE_FIELDS: ReadonlySet<string> = new Set(
  RESOURCE_SPEC_FIELDS.filter((field) => /(^|_)cpu(_limit)?$/.test(field)),
);
/** Maximum depth of normalization, deeper than the schema, which rejects deeper values. */
const MAX_DEPTH = 16;

/** Matches a number with many digits, which is a sum such as 0.1 + 0.2 as text, in cores or thousandths of a core. */
const LONG_DECIMAL = /^(\d{1,6}\.\d{10,40})(m?)$/;

function withoutNoiseInText(quantity: string): string {
  const [, digits, suffix] = LONG_DECIMAL.exec(quantity) ?? [];
  if (digits === undefined) return quantity;
  const cores = suffix === 'm' ? Number(digits) / 1000 : Number(digits);
  const rounded = withoutFloatNoise(cores);
  return milliCpu(rounded) / 1000 === rounded ? String(rounded) : quantity;
}

/**
 * The normal form of an amount in a map of requests or limits. Rounding errors of cores are removed, and numbers become
 * text.
 */
function amount(resource: string, value: unknown): unknown {
  if (typeof value === 'string') return resource === 'cpu' ? withoutNoiseInText(value) : value;
  if (typeof value !== 'number') return value;
  return String(resource === 'cpu' ? withoutFloatNoise(value) : value);
}

function normalizeMember(key: string, value: unknown, parent: string, depth: number): unknown {
  if (QUANTITY_MAPS.has(parent) && typeof value !== 'object') return amount(key, value);
  if (typeof value === 'number' && QUANTITIES.has(key)) return String(value);
  return normalize(value, key, depth + 1);
}

function normalize(value: unknown, key: string, depth: number): unknown {
  if (depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => normalize(item, key, depth + 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([name, member]) => [name, normalizeMember(name, member, key, depth)]),
  );
}

/** A sent value without members that are null, at every depth. */
export const withoutNulls = (value: unknown): unknown => normalize(value, '', 0);

/** The normal form of a sent value. A value that is not an object is returned unchanged. */
export function normalizeResourceSpec(input: unknown): unknown {
  if (!isObject(input)) return input;
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => {
      if (NESTED_FIELDS.has(key)) return [key, normalize(value, key, 0)];
      const isCores = CORE_FIELDS.has(key) && typeof value === 'number';
      return [key, isCores ? withoutFloatNoise(value) : value];
    }),
  );
}

/** The schema for request bodies, which normalizes, then parses. The output of the schema is a ResourceSpec. */
export const resourceSpecInputSchema = z.preprocess(normalizeResourceSpec, resourceSpecSchema);

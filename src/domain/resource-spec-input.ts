import { z } from 'zod';
import { resourceSpecSchema } from './resource-spec.ts';

/**
 * resource_spec as clients write it. Two liberties that the Kubernetes API server takes too, put into one form here so
 * that nothing behind has to know them: null is absent anywhere inside containers, volumes and mounts (typed clients
 * send every member), and a quantity may be a JSON number.
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
/** Deeper than any shape of the schema; what lies below is left for it to refuse. */
const MAX_DEPTH = 16;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function normalizeMember(key: string, value: unknown, parent: string, depth: number): unknown {
  if (typeof value === 'number' && (QUANTITIES.has(key) || QUANTITY_MAPS.has(parent))) return String(value);
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

/** The one form of what a client sent; anything that is no object is returned as it is. */
export function normalizeResourceSpec(input: unknown): unknown {
  if (!isObject(input)) return input;
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [
      key,
      NESTED_FIELDS.has(key) ? normalize(value, key, 0) : value,
    ]),
  );
}

/** For request bodies: normalizes, then parses. Its output is a ResourceSpec. */
export const resourceSpecInputSchema = z.preprocess(normalizeResourceSpec, resourceSpecSchema);

/**
 * Upper bound of generations of the hub. If a custom resource has a higher generation, another account has changed the
 * resource. The hub ignores this generation, and the listener overwrites it. The hub and the listener must use the same
 * bound. With different bounds, a resource with a generation between the two bounds would never be corrected.
 */
export const MAX_GENERATION = 2_000_000_000;

/**
 * Upper bound of generations of the hub. Another account has changed a custom resource with a higher generation. The
 * hub ignores this generation, and the listener overwrites it. Both must use the same bound. Otherwise such a resource
 * would never be corrected.
 */
export const MAX_GENERATION = 2_000_000_000;

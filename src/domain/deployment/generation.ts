/**
 * Upper bound of generations of the hub. A custom resource with a higher one was changed by another account: the hub ignores
 * it, and the listener overwrites it. Both must use the same bound, or such a resource would never be corrected.
 */
export const MAX_GENERATION = 2_000_000_000;

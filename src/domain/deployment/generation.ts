/**
 * Generations of the hub are below this. A custom resource with a higher one was changed by another account: the hub does
 * not follow it, and the listener overwrites it. Both keep to this one bound, or such a resource would stay for good.
 */
export const MAX_GENERATION = 2_000_000_000;

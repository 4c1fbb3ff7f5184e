/**
 * Loaded by `node --import` before a role: chance never gives less than the half, so that a pause with full jitter lasts
 * for half of its bound at least, and each try that comes at once was made without one.
 */
const { random } = Math;
Math.random = () => 0.5 + random() / 2;

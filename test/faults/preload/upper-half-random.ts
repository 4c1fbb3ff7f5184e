/**
 * Loaded by `node --import` before a role. Random numbers are never below one half, so a pause with full jitter lasts at
 * least half of its maximum. An immediate retry therefore had no pause.
 */
const { random } = Math;
Math.random = () => 0.5 + random() / 2;

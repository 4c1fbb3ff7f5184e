import { type RunSettings, variableNames } from './run-settings.ts';

/**
 * Names of variables with which the tenant provides its own data services. Berth runs no data services of the kinds that
 * the tenant provides.
 */
export const EXTERNAL_DATABASE = 'DATABASE_URI_CUSTOM';
export const EXTERNAL_CACHE = 'CACHE_URI_CUSTOM';

/** The external data services that the variables of a revision configure. */
export function externalServices(secretNames: readonly string[], settings: RunSettings) {
  const names = variableNames(secretNames, settings);
  return { database: names.includes(EXTERNAL_DATABASE), cache: names.includes(EXTERNAL_CACHE) };
}

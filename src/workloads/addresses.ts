import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { cacheName, databaseName } from './names.ts';

/** Ports and addresses inside the cluster, for containers, Services, probes and policies. */

/** Port of the app's Service. */
export const SERVICE_PORT = 80;
export const DATABASE_PORT = 5432;
export const CACHE_PORT = 6379;

/** Names of the container ports. */
export const PORT_NAMES = { app: 'http', database: 'postgresql', cache: 'redis' } as const;

/** Name of the database role of the app, and of its database. */
export const DATABASE_ROLE = 'app';

/**
 * DATABASE_URI of the app pods. The URI uses the short Service name, because app, database and cache share a namespace.
 */
export function databaseUri(resource: ManagedDeployment, password: string): string {
  const credentials = `${DATABASE_ROLE}:${encodeURIComponent(password)}`;
  return `postgresql://${credentials}@${databaseName(resource)}:${DATABASE_PORT}/${DATABASE_ROLE}`;
}

/** CACHE_URI of the app pods. */
export function cacheUri(resource: ManagedDeployment): string {
  return `redis://${cacheName(resource)}:${CACHE_PORT}`;
}

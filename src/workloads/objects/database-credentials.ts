import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { DATABASE_PORT, DATABASE_ROLE, databaseUri } from '../addresses.ts';
import type { KubeObject } from '../desired-object.ts';
import { metadata } from '../labels.ts';
import { databaseName } from '../names.ts';
import { ownerReferences, ownsData } from '../owner.ts';

/** The credentials Secret without its data: for plans and dry runs, which never hold a secret value. */
export function bareDatabaseCredentials(
  resource: ManagedDeployment,
  name: string = databaseName(resource),
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...metadata(resource, name, 'database'),
      ...(ownsData(resource) ? ownerReferences(resource) : {}),
    },
    type: 'Opaque',
    // An edit would be a new password that no running pod knows.
    immutable: true,
  };
}

/**
 * The credentials Secret of the deployment's database, with keys host, port, database, username, password and uri.
 * Create it, never re-apply it: the database takes over whatever password it holds (see database.ts).
 * @param password random, made by the caller
 * @param name of the Secret; the copy has another one
 */
export function databaseCredentials(
  resource: ManagedDeployment,
  password: string,
  name: string = databaseName(resource),
): KubeObject {
  return {
    ...bareDatabaseCredentials(resource, name),
    stringData: {
      host: databaseName(resource),
      port: String(DATABASE_PORT),
      database: DATABASE_ROLE,
      username: DATABASE_ROLE,
      password,
      uri: databaseUri(resource, password),
    },
  };
}

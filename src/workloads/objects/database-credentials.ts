import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { DATABASE_PORT, DATABASE_ROLE, databaseUri } from '../addresses.ts';
import type { KubeObject } from '../desired-object.ts';
import { metadata } from '../labels.ts';
import { databaseName } from '../names.ts';
import { ownerReferences, ownsData } from '../owner.ts';

/** The credentials Secret without data, for plans and dry runs, which never contain secret values. */
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
    // The Secret is immutable, because after an edit, running pods would not know the new password.
    immutable: true,
  };
}

/**
 * The credentials Secret of the database, with the keys host, port, database, username, password and uri. The Secret is
 * created and never applied again, because the database adopts the password in it (see database.ts).
 * @param password a random password from the caller
 * @param name name of the Secret, which differs for the copy
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

import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { credentialsCopyName, databaseName } from '../../../src/workloads/names.ts';

/** Holds what the user has sent, of one revision. */
export function isEnvironment(name: string, app: string): boolean {
  return name.startsWith(`${app}-env-`);
}

const decoded = (data: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  );

/** Between a role and its host. */
const PASSWORD_OF_URI = /(?<=:\/\/[^:/@]*:)[^@]*(?=@)/;

/** Of generated credentials all but the password; it is told whether that of the URI is the same. */
function withoutPassword({ password = '', uri = '', ...rest }: Record<string, string>) {
  const mask = (text: string) => (text === password ? '<password>' : '<another password>');
  return { ...rest, password: mask(password), uri: uri.replace(PASSWORD_OF_URI, mask) };
}

/**
 * What two Secrets for the same have in common: the values of an environment, the walk's own; of the database's credentials
 * all that was not made up; of others, which nobody here has sent, the keys.
 */
export function comparableData({ metadata, ...rest }: UntypedObject, app: string): object {
  const { data = {} } = rest as { data?: Readonly<Record<string, string>> };
  const resource = { metadata: { name: app } };
  if (isEnvironment(metadata.name, app)) return decoded(data);
  if ([databaseName(resource), credentialsCopyName(resource)].includes(metadata.name))
    return withoutPassword(decoded(data));
  return Object.keys(data).sort();
}

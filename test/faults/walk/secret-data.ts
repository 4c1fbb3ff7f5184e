import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { credentialsCopyName, databaseName } from '../../../src/workloads/names.ts';

/** Whether the Secret contains the environment of a revision, which the user has sent. */
export function isEnvironment(name: string, app: string): boolean {
  return name.startsWith(`${app}-env-`);
}

const decoded = (data: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  );

/** The password in a URI, between user and host. */
const PASSWORD_OF_URI = /(?<=:\/\/[^:/@]*:)[^@]*(?=@)/;

/** Masks the password of generated credentials. The URI shows whether it contains the same password. */
function withoutPassword({ password = '', uri = '', ...rest }: Record<string, string>) {
  const mask = (text: string) => (text === password ? '<password>' : '<another password>');
  return { ...rest, password: mask(password), uri: uri.replace(PASSWORD_OF_URI, mask) };
}

/**
 * The data of a Secret that two deployments with the same record have in common: the values of an environment, the
 * credentials of a database without the password, and only the keys of other Secrets.
 */
export function comparableData({ metadata, ...rest }: UntypedObject, app: string): object {
  const { data = {} } = rest as { data?: Readonly<Record<string, string>> };
  const resource = { metadata: { name: app } };
  if (isEnvironment(metadata.name, app)) return decoded(data);
  if ([databaseName(resource), credentialsCopyName(resource)].includes(metadata.name))
    return withoutPassword(decoded(data));
  return Object.keys(data).sort();
}

import { isObject } from '../../domain/core/is-object.ts';
import { canonicalRegistryHost } from './reference.ts';

/** Registry credentials in Secrets: `.dockerconfigjson`, and the older `.dockercfg`. */

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

interface Entry extends Credentials {
  /** Host of the registry. Can begin with a `*` for one label of the name: `*.example.com`. */
  readonly host: string;
  /** Path of the repositories, without leading and trailing slashes; empty: all repositories of the registry. */
  readonly path: string;
}

/** Keys of a Secret's data that can hold registry credentials. */
const KEYS = ['.dockerconfigjson', '.dockercfg'] as const;

/** Docker stores credentials for Docker Hub under `https://index.docker.io/v1/`. */
function placeOf(key: string): Pick<Entry, 'host' | 'path'> {
  const [host = '', ...parts] = key.replace(/^https?:\/\//, '').split('/');
  const path = parts.join('/').replace(/\/+$/, '');
  return { host: canonicalRegistryHost(host.toLowerCase()), path: /^v[12]$/.test(path) ? '' : path };
}

function credentialsOf(value: unknown): Credentials | null {
  if (!isObject(value)) return null;
  const { username, password, auth } = value;
  if (typeof username === 'string' && typeof password === 'string' && username !== '')
    return { username, password };
  if (typeof auth !== 'string') return null;
  const text = Buffer.from(auth, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon <= 0 ? null : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

function entriesOf(text: string): Entry[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return [];
  }
  const registries = isObject(parsed) ? (isObject(parsed['auths']) ? parsed['auths'] : parsed) : {};
  return Object.entries(registries).flatMap(([key, value]) => {
    const credentials = credentialsOf(value);
    return credentials === null ? [] : [{ ...placeOf(key), ...credentials }];
  });
}

function isOfHost(pattern: string, host: string): boolean {
  if (!pattern.includes('*')) return pattern === host;
  const [wanted, found] = [pattern.split('.'), host.split('.')];
  return wanted.length === found.length && wanted.every((label, at) => label === '*' || label === found[at]);
}

/**
 * The credentials of a Secret that apply to a repository, the most specific path first, in the order of the kubelet.
 * Invalid entries are skipped, as the kubelet does.
 * @param data the data of a Secret: base64
 */
export function credentialsFor(
  data: Readonly<Record<string, string>>,
  { host, repository }: { readonly host: string; readonly repository: string },
): Credentials[] {
  const isUnder = (path: string) => path === '' || repository === path || repository.startsWith(`${path}/`);
  return KEYS.flatMap((key) => entriesOf(Buffer.from(data[key] ?? '', 'base64').toString('utf8')))
    .filter((entry) => isOfHost(entry.host, host.toLowerCase()) && isUnder(entry.path))
    .sort((a, b) => b.path.length - a.path.length)
    .map(({ username, password }) => ({ username, password }));
}

/** Recognizes credentials by their form. */

const MASK = '***';
/** Credentials for the registry of the platform (hub/registry/credential.ts). */
const REGISTRY = /berth-registry\.[\w-]+\.[\w-]+/g;
/** `scheme://user:password@`. */
const PASSWORD = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s:/?#@]{0,256}:)[^\s@/]{1,1024}@/gi;

/** The text without passwords in URLs and without credentials for the registry of the platform. */
export function withoutCredentials(text: string): string {
  return text.replace(REGISTRY, MASK).replace(PASSWORD, `$1${MASK}@`);
}

/** Files that are sent, but often contain secrets. Files `.env*` have rules of their own. */

/** Credentials of package managers, of git, of databases and of curl. */
const NAMES: ReadonlySet<string> = new Set(['.npmrc', '.netrc', '.pypirc', '.git-credentials', '.pgpass']);
/** Private keys: those of ssh, and those of certificates. */
const KEY = /^id_(rsa|dsa|ecdsa|ed25519)$|\.(key|pem|p12|pfx)$/i;

/** Whether a file often contains secrets, by its name. */
export function oftenHasSecrets(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return NAMES.has(name) || KEY.test(name);
}

import { StoreError } from './errors.ts';

/** The values of `sslmode` in DATABASE_URL that Berth accepts. None of them falls back to an unencrypted connection. */
const MODES = ['disable', 'no-verify', 'require', 'verify-ca', 'verify-full'];

const rejected = (cause: string, next: string) =>
  new StoreError(`failed to read sslmode in DATABASE_URL: ${cause}; next: ${next}`, { retryable: false });

/**
 * Gives `sslmode` of a database URL the meaning that docs/install.md describes. pg warns about `require` and treats
 * `verify-ca` as `verify-full`, and its next major version will no longer check certificates for `require`.
 * @returns the URL for pg, which checks the certificate and the name of the server for `require`
 * @throws StoreError for a mode that allows unencrypted connections, an unknown mode, or verify-ca without sslrootcert
 */
export function withTlsMode(url: string): string {
  const start = url.indexOf('?');
  if (start < 0) return url;
  const query = url.slice(start + 1);
  const parameters = new URLSearchParams(query);
  const mode = parameters.getAll('sslmode').at(-1);
  // With uselibpqcompat, the owner of the URL asks pg for the rules of libpq.
  if (mode === undefined || parameters.has('uselibpqcompat')) return url;
  if (!MODES.includes(mode))
    throw rejected(
      mode === 'prefer' || mode === 'allow'
        ? `"${mode}" allows unencrypted connections without notice`
        : 'the value is unknown',
      `set one of ${MODES.join(', ')}`,
    );
  if (mode === 'require') return replaceMode(url, 'verify-full');
  if (mode !== 'verify-ca') return url;
  if (!parameters.get('sslrootcert'))
    throw rejected('verify-ca needs sslrootcert', 'add sslrootcert=FILE, or set sslmode=verify-full');
  return `${replaceMode(url, 'verify-ca')}&uselibpqcompat=true`;
}

const replaceMode = (url: string, mode: string) => url.replace(/([?&])sslmode=[^&]*/g, `$1sslmode=${mode}`);

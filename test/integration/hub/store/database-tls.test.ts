/** TLS between the store and PostgreSQL: what each sslmode accepts and rejects, with servers with and without TLS. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../../src/hub/store/core/database.ts';
import { StoreUnavailable } from '../../../../src/hub/store/core/errors.ts';
import { checkSessions } from '../../../../src/hub/store/core/session-check.ts';
import { type LocalPostgres, startPostgres } from '../../../cluster/postgres.ts';
import { chownTo, unprivilegedUser } from '../../../cluster/postgres-binaries.ts';
import { authority } from '../../../unit/cluster/kube/self-signed.ts';
import { recordingLogger, storeServer } from '../../harness/store.ts';

const own = authority();
const other = authority();
let folder: string;
let secure: LocalPostgres;
let plain: LocalPostgres;

/** Writes a file that only PostgreSQL can read. */
function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content, { mode: 0o600 });
  chownTo(unprivilegedUser(), path);
  return path;
}

beforeAll(async () => {
  folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-database-tls-'));
  chownTo(unprivilegedUser(), folder);
  // The certificate does not name 127.0.0.1.
  const { cert, key } = own.issue(['localhost']);
  file('own.crt', own.cert);
  file('other.crt', other.cert);
  secure = await startPostgres({
    settings: { ssl: 'on', ssl_cert_file: file('tls.crt', cert), ssl_key_file: file('tls.key', key) },
    log: () => undefined,
  });
  plain = await storeServer();
});
afterAll(async () => {
  await secure?.stop();
  await plain?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Attempt {
  readonly host?: 'localhost' | '127.0.0.1';
  readonly mode?: string;
  readonly ca?: 'own' | 'other';
}

function urlOf(server: LocalPostgres, { host = 'localhost', mode, ca }: Attempt): string {
  const url = new URL(server.url);
  url.hostname = host;
  if (mode !== undefined) url.searchParams.set('sslmode', mode);
  if (ca !== undefined) url.searchParams.set('sslrootcert', join(folder, `${ca}.crt`));
  return url.href;
}

/** Whether a connection of the pool is encrypted. */
async function isEncrypted(attempt: Attempt): Promise<boolean> {
  const database = openDatabase({
    url: urlOf(secure, attempt),
    poolSize: 1,
    logger: recordingLogger(),
    connectTimeoutMs: 30_000,
  });
  try {
    const rows = await database.platform.read((reader) =>
      reader.query<{ ssl: boolean }>('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'),
    );
    return rows[0]?.ssl ?? false;
  } finally {
    await database.close();
  }
}

describe('a server with TLS', () => {
  test.each<Attempt>([
    { mode: 'verify-full', ca: 'own' },
    { mode: 'require', ca: 'own' },
    { mode: 'verify-ca', ca: 'own' },
    { mode: 'verify-ca', ca: 'own', host: '127.0.0.1' },
    { mode: 'no-verify', host: '127.0.0.1' },
  ])('is used with TLS for %o', async (attempt) => expect(await isEncrypted(attempt)).toBe(true));

  test('is used without TLS for disable', async () =>
    expect(await isEncrypted({ mode: 'disable' })).toBe(false));

  test.each<[Attempt, RegExp]>([
    [{ mode: 'verify-full', ca: 'own', host: '127.0.0.1' }, /does not match certificate|not in the cert/],
    [{ mode: 'require', ca: 'own', host: '127.0.0.1' }, /does not match certificate|not in the cert/],
    [{ mode: 'verify-full', ca: 'other' }, /unable to verify|self-signed|issuer/],
    [{ mode: 'verify-ca', ca: 'other' }, /unable to verify|self-signed|issuer/],
    [{ mode: 'require' }, /unable to verify|self-signed|issuer/],
  ])('is rejected with cause and next step for %o', async (attempt, cause) => {
    const error = await isEncrypted(attempt).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(String(error)).toMatch(/localhost|127\.0\.0\.1/);
    expect(String(error)).toMatch(cause);
    expect(String(error)).toMatch(
      /certificate of the server was not accepted.*next: check the host of DATABASE_URL/,
    );
    expect(String(error)).not.toContain(new URL(secure.url).password);
  });
});

describe('a server without TLS', () => {
  test.each<Attempt>([
    { mode: 'require', ca: 'own' },
    { mode: 'verify-ca', ca: 'own' },
    { mode: 'verify-full', ca: 'own' },
    { mode: 'no-verify' },
  ])('is not used for %o', async (attempt) => {
    const error = await checkSessions(urlOf(plain, attempt)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(String(error)).toMatch(/the server does not accept TLS, which sslmode in DATABASE_URL requires/);
  });
});

test('sessions are kept without a pooler, even at the same moment', async () => {
  await Promise.all([1, 2, 3].map(() => checkSessions(plain.url)));
});

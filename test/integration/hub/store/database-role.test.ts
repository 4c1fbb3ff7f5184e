/** The user of DATABASE_URL, held against row-level security at the start. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkDatabaseRole } from '../../../../src/app/database-role.ts';
import { ConfigError } from '../../../../src/config/index.ts';
import { openDatabase } from '../../../../src/hub/store/core/database.ts';
import { migrate } from '../../../../src/hub/store/core/migrate.ts';
import { type OrdinaryDatabase, ordinaryDatabase } from '../../../cluster/ordinary-database.ts';
import type { LocalPostgres } from '../../../cluster/postgres.ts';
import { recordingLogger, storeServer } from '../../harness/store.ts';

let server: LocalPostgres;
let made: OrdinaryDatabase;

beforeAll(async () => {
  server = await storeServer({ own: true });
  made = await ordinaryDatabase(server, 'role-test');
});
afterAll(async () => {
  await made.drop();
  await server.stop();
});

/** What is logged while the API's check runs; its refusal is thrown. */
async function check(
  url: string,
  hosting: 'cloud' | 'self_hosted',
  allowRlsBypass: boolean | null = null,
): Promise<{ level: string; message: string }[]> {
  const logger = recordingLogger();
  const database = openDatabase({ url, poolSize: 1, logger });
  try {
    await checkDatabaseRole(database, { hosting, allowRlsBypass }, logger);
    return logger.lines;
  } finally {
    await database.close();
  }
}

describe('a role that is subject to row-level security', () => {
  it.each(['cloud', 'self_hosted'] as const)(
    'passes the check without a log line in %s mode',
    async (hosting) => {
      expect(await check(made.url, hosting)).toEqual([]);
    },
  );

  it('migrates without a warning', async () => {
    const logger = recordingLogger();
    await migrate(made.url, logger);
    expect(logger.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });
});

describe('a superuser', () => {
  it('causes a warning with the next step in self_hosted mode', async () => {
    expect(await check(made.adminUrl, 'self_hosted')).toMatchObject([
      { level: 'warn', message: expect.stringMatching(/postgres of DATABASE_URL is a superuser.*next: /) },
    ]);
  });

  it('is rejected in cloud mode unless it is allowed', async () => {
    await expect(check(made.adminUrl, 'cloud')).rejects.toThrow(ConfigError);
    await expect(check(made.adminUrl, 'cloud')).rejects.toThrow('BERTH_ALLOW_RLS_BYPASS=true');
    expect(await check(made.adminUrl, 'cloud', true)).toMatchObject([{ level: 'warn' }]);
  });

  it('is rejected in every mode when the setting forbids it', async () => {
    await expect(check(made.adminUrl, 'self_hosted', false)).rejects.toThrow(ConfigError);
  });

  it('causes a warning from berth migrate', async () => {
    const logger = recordingLogger();
    await migrate(made.adminUrl, logger);
    expect(logger.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('is a superuser') }),
    );
  });
});

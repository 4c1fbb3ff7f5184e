/** Which work shares connections, on a pool whose connections accept every statement. */
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import { openDatabase } from '../../../../../src/hub/store/core/database.ts';

afterEach(() => void vi.restoreAllMocks());

function open(poolSize: number) {
  const client = { query: async (text: string) => ({ command: text, rows: [] }), release: () => undefined };
  vi.spyOn(pg.Pool.prototype, 'connect').mockImplementation((done: unknown) => {
    (done as (error: undefined, client: object) => void)(undefined, client);
  });
  const quiet = () => undefined;
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  return openDatabase({ url: 'postgres://x@127.0.0.1/x', poolSize, logger });
}

test('the ping and each group of the platform do not wait for other work of the platform', async () => {
  const database = open(10);
  const release = Promise.withResolvers<void>();
  const busy = Array.from({ length: 20 }, () => database.platform.transaction(() => release.promise));
  await database.ping();
  await database.forPlatform('listener').read(async () => undefined);
  expect(database.pool().waiting).toBe(12);
  release.resolve();
  await Promise.all(busy);
});

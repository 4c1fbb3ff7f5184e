import { beforeEach, describe, expect, test, vi } from 'vitest';
import { untilMigrated } from '../../../src/app/await-migration.ts';
import { ForeignMigration, NotMigrated } from '../../../src/hub/store/core/errors.ts';

const empty = () => new NotMigrated('failed to use the database: it is empty');
const older = () => new NotMigrated('failed to use the database: it lacks the migration 0001');

const info = vi.fn();
const logger = { debug: vi.fn(), info, warn: vi.fn(), error: vi.fn() };
beforeEach(() => {
  info.mockClear();
});

/** A check that fails with each error once, and then succeeds. */
const failing = (...errors: Error[]) =>
  vi.fn(async () => {
    const error = errors.shift();
    if (error !== undefined) throw error;
  });
const waiting = (seconds: number, stopping = new AbortController().signal) => ({ seconds, logger, stopping });

describe('the wait for the migration', () => {
  test('ends when the database is migrated, and logs the reason of the wait once', async () => {
    const check = failing(empty(), empty(), older());
    await untilMigrated(check, waiting(60));
    expect(check).toHaveBeenCalledTimes(4);
    expect(info.mock.calls.map(([{ reason }]) => reason)).toEqual([empty().message, older().message]);
  });

  test('fails at once if no wait is configured', async () => {
    const check = failing(empty());
    await expect(untilMigrated(check, waiting(0))).rejects.toThrow('it is empty');
    expect(check).toHaveBeenCalledTimes(1);
  });

  test('fails at once for a database of another version, because no migration helps', async () => {
    const check = failing(new ForeignMigration('failed to use the database: another one'));
    await expect(untilMigrated(check, waiting(60))).rejects.toThrow('another one');
    expect(check).toHaveBeenCalledTimes(1);
  });

  test('fails with what is missing when its time is over', async () => {
    const check = vi.fn(async () => Promise.reject(empty()));
    await expect(untilMigrated(check, waiting(0.1))).rejects.toThrow('it is empty');
    expect(check).toHaveBeenCalledTimes(2);
  });

  test('ends at once when the process is asked to stop', async () => {
    const stop = new AbortController();
    const check = vi.fn(async () => Promise.reject(empty()));
    const ended = untilMigrated(check, waiting(3_600, stop.signal));
    stop.abort();
    await expect(ended).rejects.toThrow('it is empty');
  });

  test('fails at once with an error that is not about migrations', async () => {
    const check = failing(new Error('a mistake of ours'));
    await expect(untilMigrated(check, waiting(60))).rejects.toThrow('a mistake of ours');
  });
});

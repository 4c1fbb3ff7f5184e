import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { stopRoles } from '../../../src/app/stop-roles.ts';
import { recordingLogger } from '../cluster/kube/support.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Stops three roles, in the order of their start, that take this many seconds; reports when each began and ended. */
async function stopping(api: number, operator: number, listener: number) {
  const start = Date.now();
  const seconds = () => (Date.now() - start) / 1000;
  const told: string[] = [];
  const role = (name: string, takes: number) => ({
    stop: async () => {
      told.push(`${name} begins at ${seconds()}`);
      await new Promise((resolve) => setTimeout(resolve, takes * 1000));
      told.push(`${name} ends at ${seconds()}`);
    },
  });
  const roles = [role('api', api), role('operator', operator), role('listener', listener)];
  const logger = recordingLogger();
  const stopped = stopRoles(roles, logger).then((inTime) => ({ inTime, at: seconds() }));
  await vi.advanceTimersByTimeAsync(60_000);
  return { told, ...(await stopped), errors: logger.lines.filter(({ level }) => level === 'error').length };
}

test('stops operator and listener at once, and then gives the API its full time', async () => {
  expect(await stopping(8, 7, 8)).toEqual({
    told: [
      'operator begins at 0',
      'listener begins at 0',
      'operator ends at 7',
      'listener ends at 8',
      'api begins at 8',
      'api ends at 16',
    ],
    inTime: true,
    at: 16,
    errors: 0,
  });
});

test('logs a role that does not stop, and does not delay the API for it', async () => {
  const { told, ...rest } = await stopping(1, 50, 1);
  expect(told).toContain('api ends at 10');
  expect(rest).toEqual({ inTime: false, at: 10, errors: 1 });
  expect(await stopping(50, 1, 1)).toMatchObject({ inTime: false, at: 10, errors: 1 });
});

test('stops the other roles when one role fails to stop', async () => {
  const failing = { stop: () => Promise.reject(new Error('no')) };
  const stop = vi.fn(async () => {});
  expect(await stopRoles([{ stop }, failing], recordingLogger())).toBe(true);
  expect(stop).toHaveBeenCalledOnce();
});

import { expect, test } from 'vitest';
import { waitFor } from '../../cluster/wait.ts';

/** Gives its answer after the time of the wait is over. */
const late = () => new Promise<string>((resolve) => setTimeout(() => resolve('late'), 30));

test('waitFor accepts a late result unless strict is set', async () => {
  expect(await waitFor('it', late, { timeoutMs: 1 })).toBe('late');
  const bound = waitFor('it', late, { timeoutMs: 1, strict: true });
  await expect(bound).rejects.toThrow('failed to wait for it within 0.001 s');
});

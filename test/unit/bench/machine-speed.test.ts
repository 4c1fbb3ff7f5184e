import { expect, test } from 'vitest';
import { watchMachineSpeed } from '../../bench/machine-speed.ts';

test('each take tells what a computation took since the one before, and waits for one', async () => {
  const speed = watchMachineSpeed();
  try {
    for (const took of [await speed.take(), await speed.take()]) expect(took).toBeGreaterThan(0);
  } finally {
    await speed.stop();
  }
  await expect(speed.take()).rejects.toThrow('the computing was ended');
});

import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { LogMasks } from '../../../../../src/hub/api/logs/log-masks.ts';
import type { Reader } from '../../../../../src/hub/store/core/database.ts';
import type { SealedSecrets } from '../../../../../src/hub/store/core/records.ts';
import { createSecretBox, sealSecrets } from '../../../../../src/hub/store/secrets/secret-box.ts';
import { fakeDrizzle } from '../../fake-drizzle.ts';

const box = createSecretBox({ keys: [{ id: 'one', key: randomBytes(32) }], primary: 'one' });

function seal(value: string): SealedSecrets {
  const set = sealSecrets(box, 'tenant', 'deployment', [{ name: 'A', value }]);
  if (set === null) throw new Error('nothing was sealed');
  return set;
}

/** A reader that finds these sets of secrets. */
function readerOf(...sets: SealedSecrets[]): Reader {
  const drizzle = fakeDrizzle(async (text) => {
    const columns = /^select (.*) from/.exec(text)?.[1]?.split(', ') ?? [];
    const names = columns.map((column) => column.replace(/^.*\.?"(\w+)"$/, '$1'));
    return sets.map(({ id, tenantId, deploymentId, keyId, sealed }) => {
      const row = { id, tenant_id: tenantId, deployment_id: deploymentId, key_id: keyId, sealed };
      return names.map((name) => row[name as keyof typeof row]);
    });
  });
  return { drizzle } as unknown as Reader;
}

test('secrets of earlier calls stay masked', async () => {
  const maskNow = new LogMasks(box).of('tenant', 'deployment');
  const [first, second] = [seal('hunter22'), seal('hunter33')];
  expect((await maskNow(readerOf(first)))('hunter22 hunter33')).toBe('*** hunter33');
  expect((await maskNow(readerOf(second)))('hunter22 hunter33')).toBe('*** ***');
});

test('readers of the same secrets share a mask, and 16 masks are kept', async () => {
  const masks = new LogMasks(box);
  const reader = readerOf(seal('hunter22'), seal('hunter33'));
  const maskNow = masks.of('tenant', 'deployment');
  const mask = await maskNow(reader);
  expect(await masks.of('tenant', 'deployment')(reader)).toBe(mask);

  for (let other = 0; other < 15; other += 1) await masks.of('tenant', 'other')(readerOf(seal('hunter44')));
  expect(await maskNow(reader)).toBe(mask);
  for (let other = 0; other < 16; other += 1) await masks.of('tenant', 'other')(readerOf(seal('hunter44')));
  const next = await maskNow(reader);
  expect(next).not.toBe(mask);
  expect(next('hunter22 hunter33 hunter44')).toBe('*** *** hunter44');
});

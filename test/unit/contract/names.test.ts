import { expect, test } from 'vitest';
import { buildJobName, buildName, formerBuildName } from '../../../src/contract/names.ts';

const PLACE = { namespace: 'berth-01900000-0000-7000-8000-00000000000a', name: `${'x'.repeat(40)}-00000001` };

test('gives a build a name with 128 bits of a hash, which fits a Job with an attempt', () => {
  const name = buildName(PLACE, 'r1');
  expect(name).toMatch(/^x{20}-[0-9a-f]{32}$/);
  expect(buildJobName(name, 3).length).toBeLessThanOrEqual(63);
  expect(formerBuildName(PLACE, 'r1')).toMatch(/^x{36}-[0-9a-f]{16}$/);
});

test('gives different places and revisions different names, whatever the parts contain', () => {
  const names = [
    buildName({ namespace: 'a', name: 'b' }, 'c'),
    buildName({ namespace: 'a', name: 'b-c' }, ''),
    buildName({ namespace: 'a","b', name: 'b' }, 'c'),
    buildName({ namespace: 'b', name: 'a' }, 'c'),
    buildName({ namespace: 'a', name: 'b' }, '["c"]'),
  ].map((name) => name.slice(-32));
  expect(new Set(names).size).toBe(names.length);
});

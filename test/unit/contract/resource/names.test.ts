import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  appName,
  buildJobName,
  buildName,
  envSecretName,
  formerBuildName,
  hubNameOfObject,
} from '../../../../src/contract/resource/names.ts';

const PLACE = { namespace: 'berth-01900000-0000-7000-8000-00000000000a', name: `${'x'.repeat(40)}-00000001` };

test('gives a build a name with 128 bits of a hash that fits a Job name with the attempt', () => {
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

/** The last part of what Berth makes for a deployment, and parts that look like it. */
const PARTS = [
  ...['api', 'queue', 'orchestrator', 'executor', 'db', 'db-copy', 'cache', 'tls', 'pull', 'identity'],
  ...['secrets', 'env', 'env-1', '1', '1-2', '1234567-1234567', 'env-1234567'],
];
const hex = (digits: string) =>
  fc.string({ unit: fc.constantFrom(...digits), minLength: 12, maxLength: 12 }).map((end) => {
    return `0197a000-0000-7000-8000-${end}`;
  });
/** Decimal digits alone look most like the number of a revision. */
const id = fc.oneof(hex('0123456789abcdef'), hex('0123456789'), hex('0'), hex('abcdef'));
const displayName = fc.oneof(
  fc.string({ maxLength: 64 }),
  fc
    .tuple(
      fc.constantFrom('svc', 'shop-0a1b2c3d', 'svc-1a2b3c4d', 'x'.repeat(36)),
      fc.constantFrom('', ...PARTS),
    )
    .map((parts) => parts.join('-')),
);

test('reserves no name that the hub gives a deployment', () => {
  const property = fc.property(displayName, id, (name, ofDeployment) => {
    expect(hubNameOfObject(appName(name, ofDeployment))).toBeNull();
  });
  fc.assert(property, {
    numRuns: 5_000,
    seed: 87,
    examples: [['svc-1a2b3c4d-env', '0197a000-0000-7000-8000-000012345678']],
  });
});

test('reserves every name that objects of a deployment of the hub have', () => {
  const property = fc.property(displayName, id, fc.constantFrom(...PARTS), (name, ofDeployment, part) => {
    const app = appName(name, ofDeployment);
    expect(hubNameOfObject(`${app}-${part}`)).toBe(app);
    expect(hubNameOfObject(envSecretName(app, 42))).toBe(app);
  });
  fc.assert(property, { numRuns: 1_000, seed: 88 });
});

import { describe, expect, test } from 'vitest';
import { changeEffects } from '../../../../src/domain/deployment/change-effects.ts';
import { toSourceConfig } from '../../../../src/domain/deployment/deployment-bodies.ts';
import { withDefaultCeilings } from '../../../../src/domain/policy/default-ceilings.ts';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { effectiveSpec } from '../../../../src/domain/resource-spec/effective-spec.ts';
import type { ResourceSpec } from '../../../../src/domain/resource-spec/resource-spec.ts';

const OURS = { database: false, cache: false };
const config = (resource_spec: ResourceSpec) => toSourceConfig({ resource_spec });
const effects = (before: ResourceSpec, after: ResourceSpec, external = OURS) =>
  changeEffects(config(before), config(after), external);

test('reports a restart of the database for a scale that needs more connections, and how to avoid it', () => {
  expect(effects({ max_scale: 2 }, { max_scale: 60 })).toEqual([
    expect.stringMatching(
      /^The database restarts: db_max_connections changes from 100 to \d+, which follows from the scales \(.*set db_max_connections.*\)\.$/,
    ),
  ]);
  expect(effects({ max_scale: 60 }, { max_scale: 2 })).toHaveLength(1);
});

test.each<[string, ResourceSpec, ResourceSpec]>([
  ['a scale with connections to spare', { max_scale: 2 }, { max_scale: 3 }],
  [
    'a scale below the connections that were sent',
    { db_max_connections: 800 },
    { db_max_connections: 800, max_scale: 60 },
  ],
  ['cores of the app', { cpu: 1 }, { cpu: 2 }],
  ['a larger volume', { db_storage_gi: 10 }, { db_storage_gi: 20 }],
  ['a switch off', { max_scale: 60 }, { max_scale: 0 }],
  ['a switch on', { max_scale: 0 }, { max_scale: 60 }],
  ['a default written out', {}, { db_max_connections: 100, cache_memory_mb: 512 }],
])('reports no restart of a data service for %s', (_what, before, after) => {
  expect(effects(before, after)).toEqual([]);
});

test('reports a restart when the sizes of a data service of the platform change', () => {
  expect(effects({}, { db_cpu: 2, cache_cpu: 1, db_max_connections: 300 })).toEqual([
    'The database restarts: db_max_connections changes from 100 to 300; db_cpu changes from 1 to 2; db_cpu_limit changes from 2 to 4.',
    'The cache restarts and loses its content: cache_cpu changes from 0.5 to 1; cache_cpu_limit changes from 1 to 2.',
  ]);
  const theirs = { database: true, cache: true };
  expect(effects({}, { db_cpu: 2, cache_cpu: 1, max_scale: 60 }, theirs)).toEqual([]);
});

test('reports no restart for a new scale when the policy provides connections for the largest scale', () => {
  const policy = resolvePolicy('self_hosted', { database: { min_connections: 900 } });
  const stored = (spec: ResourceSpec) => withDefaultCeilings(config(spec), policy);
  expect(changeEffects(stored({ max_scale: 2 }), stored({ max_scale: 60 }), OURS)).toEqual([]);
  const { resource_spec: spec, default_ceilings: ceilings } = stored({ max_scale: 2 });
  expect(effectiveSpec(spec ?? {}, null, ceilings)).toMatchObject({
    db_max_connections: 900,
    db_pool_size: 10,
  });
  // What was sent wins, and so does the cap.
  expect(stored({ db_max_connections: 200 }).default_ceilings).toBeUndefined();
  const capped = resolvePolicy('self_hosted', {
    database: { min_connections: 900 },
    caps: { db_connections: 300 },
  });
  const { default_ceilings: bound } = withDefaultCeilings(config({}), capped);
  expect(effectiveSpec({}, null, bound).db_max_connections).toBe(300);
});

test('keeps the connections of a deployment that was stored before the policy had a minimum', () => {
  expect(effectiveSpec({ max_scale: 2 }, null).db_max_connections).toBe(100);
});

describe('a policy that changed after the deployment was stored', () => {
  type PolicyFile = Parameters<typeof resolvePolicy>[1];
  const stored = (spec: ResourceSpec, file: PolicyFile) =>
    withDefaultCeilings(config(spec), resolvePolicy('self_hosted', file));
  const least = (min_connections: number) => ({ database: { min_connections } });

  test.each<[string, [ResourceSpec, PolicyFile], [ResourceSpec, PolicyFile], string]>([
    [
      'a higher minimum of connections',
      [{}, {}],
      [{ annotations: { a: 'b' } }, least(500)],
      'db_max_connections changes from 100 to 500, which follows from database.min_connections in the policy of the platform, not from the request (to choose the number, set db_max_connections)',
    ],
    [
      'no minimum of connections any more',
      [{}, least(500)],
      [{ annotations: { a: 'b' } }, {}],
      'db_max_connections changes from 500 to 100, which follows from database.min_connections in the policy of the platform, not from the request (to choose the number, set db_max_connections)',
    ],
    [
      'a lower cap',
      [{}, least(500)],
      [{ annotations: { a: 'b' } }, { ...least(500), caps: { db_connections: 300 } }],
      'db_max_connections changes from 500 to 300, which follows from caps.db_connections in the policy of the platform, not from the request (to choose the number, set db_max_connections)',
    ],
    [
      'a higher minimum together with a larger scale',
      [{}, {}],
      [{ max_scale: 60 }, least(9000)],
      'db_max_connections changes from 100 to 9000, which follows from the scales and from database.min_connections in the policy of the platform (to choose the number, set db_max_connections to the number that the largest scale needs)',
    ],
    [
      'a cap below the default limits',
      [{ db_cpu: 2 }, {}],
      [{ db_cpu: 2, annotations: { a: 'b' } }, { caps: { cpu: 3 } }],
      'db_cpu_limit changes from 4 to 3, which follows from caps in the policy of the platform',
    ],
  ])('is named as the cause of a restart: %s', (_what, [before, formerly], [after, now], effect) => {
    expect(changeEffects(stored(before, formerly), stored(after, now), OURS)).toEqual([
      `The database restarts: ${effect}.`,
    ]);
  });

  test('is not named when the change has the same effect without it', () => {
    const [effect] = changeEffects(stored({}, {}), stored({ max_scale: 60 }, least(200)), OURS);
    expect(effect).toContain('which follows from the scales (');
    const sent = changeEffects(stored({}, {}), stored({ db_max_connections: 300 }, least(500)), OURS);
    expect(sent).toEqual(['The database restarts: db_max_connections changes from 100 to 300.']);
  });
});

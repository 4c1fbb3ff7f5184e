import { describe, expect, test } from 'vitest';
import { sourceConfigBodySchema } from '../../../../src/domain/deployment/deployment-bodies.ts';
import {
  allMembers,
  dataServiceIssues,
  disabledServices,
  mergeDataService,
} from '../../../../src/domain/pod-settings/data-services.ts';
import { servicesNotRun } from '../../../../src/domain/run-settings/revision-content.ts';

const OFF = { enabled: false };
const REMOVED = { enabled: false, remove_volume: true };

describe('a PATCH of database or cache', () => {
  test.each<[string, object | undefined, object | null | undefined, object | undefined]>([
    ['keeps the value when it is absent', OFF, undefined, OFF],
    ['clears the value when it is null', OFF, null, undefined],
    ['keeps absent members', OFF, { remove_volume: true }, REMOVED],
    ['clears a member that is null', OFF, { enabled: null }, undefined],
    ['keeps the confirmation while the database stays off', REMOVED, { enabled: false }, REMOVED],
    ['ends the confirmation when the database is switched on', REMOVED, { enabled: true }, { enabled: true }],
    ['ends the confirmation when enabled is cleared', REMOVED, { enabled: null }, undefined],
    ['takes the confirmation back', REMOVED, { remove_volume: false }, { ...OFF, remove_volume: false }],
    ['changes nothing when it is empty', OFF, {}, OFF],
  ])('%s', (_what, stored, sent, merged) => {
    expect(mergeDataService(stored, sent)).toEqual(merged);
  });

  test('that is a PUT clears absent members', () => {
    expect(mergeDataService(REMOVED, allMembers('database', OFF))).toEqual(OFF);
    expect(allMembers('cache', {})).toEqual({ enabled: null });
    expect(allMembers('database', undefined)).toBeNull();
  });
});

describe('a confirmation to remove the volume', () => {
  test('is rejected unless the database is switched off', () => {
    const [issue] = dataServiceIssues({ database: { remove_volume: true } });
    expect(issue).toMatchObject({
      loc: ['source_config', 'database', 'remove_volume'],
      type: 'volume_in_use',
    });
    expect(dataServiceIssues({ database: { enabled: true, remove_volume: true } })).toHaveLength(1);
    expect(dataServiceIssues({ database: REMOVED })).toEqual([]);
    expect(dataServiceIssues({ database: { remove_volume: false } })).toEqual([]);
    expect(dataServiceIssues({})).toEqual([]);
  });

  test('is not a member of the cache', () => {
    expect(sourceConfigBodySchema.safeParse({ cache: REMOVED }).success).toBe(false);
    expect(sourceConfigBodySchema.safeParse({ database: { enabled: 'no' } }).success).toBe(false);
  });
});

describe('the services that Berth does not run', () => {
  test.each([
    [undefined, false, false],
    [{ enabled: true }, false, false],
    [OFF, false, true],
    [undefined, true, true],
    [OFF, true, true],
  ])('follow from database %j and DATABASE_URI_CUSTOM set: %s', (database, isSet, expected) => {
    const secrets = isSet ? ['DATABASE_URI_CUSTOM'] : [];
    expect(servicesNotRun({ database }, secrets, {})).toEqual({ database: expected, cache: false });
  });

  test('are switched off only by false', () => {
    expect(disabledServices({})).toEqual({ database: false, cache: false });
    expect(disabledServices({ database: {}, cache: OFF })).toEqual({ database: false, cache: true });
  });
});

import { describe, expect, test } from 'vitest';
import { dataServiceEffects } from '../../../../src/domain/deployment/data-service-effects.ts';
import { toSourceConfig } from '../../../../src/domain/deployment/deployment-bodies.ts';
import type { PodSettingsBody } from '../../../../src/domain/pod-settings/pod-settings.ts';

const OURS = { database: false, cache: false };
const effects = (before: PodSettingsBody, after: PodSettingsBody, sizeGi = 10, external = OURS) =>
  dataServiceEffects(toSourceConfig(before as object), toSourceConfig(after as object), external, { sizeGi });

const OFF = { database: { enabled: false } };
const REMOVED = { database: { enabled: false, remove_volume: true } };

describe('the effects of database', () => {
  test('name the kept volume when it is switched off', () => {
    expect(effects({}, OFF)).toEqual([
      'The database is switched off when the pods no longer use it. Its volume (10 GiB) is kept and counts in the ' +
        'quota until the deployment is deleted or database.remove_volume is true.',
    ]);
    expect(effects({}, OFF, 0)).toEqual(['The database is switched off when the pods no longer use it.']);
  });

  test('say that the data is lost when the removal is confirmed', () => {
    const lost =
      'The volume of the database (10 GiB) is deleted with all its data when no pod uses it. This cannot be undone.';
    expect(effects(OFF, REMOVED)).toEqual([lost]);
    expect(effects({}, REMOVED)).toEqual([expect.stringMatching(/^The database is switched off/), lost]);
    expect(effects(OFF, REMOVED, 0)).toEqual([]);
    expect(effects(REMOVED, REMOVED)).toEqual([]);
  });

  test('name the volume that it starts with when it is switched on', () => {
    expect(effects(OFF, {})).toEqual(['The database starts with the volume that was kept (10 GiB).']);
    expect(effects(OFF, {}, 0)).toEqual(['The database is created with an empty volume.']);
  });

  test('say that the volume is kept when the confirmation is taken back', () => {
    expect(effects(REMOVED, {})).toEqual(['The database starts with the volume that was kept (10 GiB).']);
    expect(effects(REMOVED, {}, 0)).toEqual(['The database is created with an empty volume.']);
    expect(effects(REMOVED, OFF)).toEqual(['The volume of the database (10 GiB) is kept.']);
    expect(effects(REMOVED, OFF, 0)).toEqual([]);
  });

  test('say that the removal may wait when the deployment is switched off', () => {
    const suspended = { resource_spec: { min_scale: 0, max_scale: 0 } } as PodSettingsBody;
    expect(effects({ ...suspended, ...OFF }, { ...suspended, ...REMOVED })).toEqual([
      expect.stringMatching(/cannot be undone\. While max_scale is 0, the deletion waits until/),
    ]);
  });

  test('are empty for a database of the tenant, apart from the volume that was kept before', () => {
    const external = { database: true, cache: true };
    expect(effects({}, { ...OFF, cache: { enabled: false } }, 10, external)).toEqual([]);
    expect(effects(OFF, REMOVED, 10, external)).toHaveLength(1);
  });

  test('are empty for a default that is written out', () => {
    expect(effects({}, { database: { enabled: true }, cache: { enabled: true } })).toEqual([]);
  });
});

test('the effects of cache say that its content is lost', () => {
  expect(effects({}, { cache: { enabled: false } })).toEqual([
    'The cache is switched off when the pods no longer use it, and loses its content.',
  ]);
  expect(effects({ cache: { enabled: false } }, {})).toEqual(['The cache is created.']);
});

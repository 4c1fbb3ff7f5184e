import { describe, expect, test } from 'vitest';
import type { SourceConfig } from '../../../../src/domain/deployment/deployment.ts';
import { toSourceConfig } from '../../../../src/domain/deployment/deployment-bodies.ts';
import { HOSTING_MODES } from '../../../../src/domain/deployment/source.ts';
import { type PolicyFile, resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { policyViolations } from '../../../../src/domain/policy/policy-rules.ts';
import { demandOf, usageOf } from '../../../../src/domain/policy/quota-usage.ts';

const config = (database: SourceConfig['database']) =>
  toSourceConfig(database === undefined ? {} : { database });
const REMOVED = { enabled: false, remove_volume: true };

function refused(sourceConfig: SourceConfig, file: PolicyFile, stored?: SourceConfig): string[] {
  const input = { sourceConfig, secrets: [], appName: 'shop-0a1b2c3d', ownHost: null, serverUrl: null };
  const view = stored === undefined ? input : { ...input, stored };
  return policyViolations(view, resolvePolicy('self_hosted', file)).map(({ loc }) => loc.join('.'));
}

describe('the removal of a volume', () => {
  test('is allowed by default in both hosting modes', () => {
    for (const hosting of HOSTING_MODES) expect(resolvePolicy(hosting).database.volume_removal).toBe(true);
    expect(refused(config(REMOVED), {})).toEqual([]);
  });

  test('is rejected when the policy keeps volumes, unless it was accepted before', () => {
    const file = { database: { volume_removal: false } };
    expect(refused(config(REMOVED), file)).toEqual(['source_config.database.remove_volume']);
    expect(refused(config({ enabled: false }), file)).toEqual([]);
    expect(refused(config(REMOVED), file, config({ enabled: false }))).toHaveLength(1);
    expect(refused(config(REMOVED), file, config(REMOVED))).toEqual([]);
  });
});

test('the usage counts no database and no cache that are switched off, but a volume that is kept', () => {
  const off = { database: true, cache: true };
  const whole = usageOf(demandOf(toSourceConfig({}), { database: false, cache: false }));
  const alone = usageOf(demandOf(toSourceConfig({}), off));
  expect(alone.storageGi).toBe(0);
  expect(alone.cpuM).toBeLessThan(whole.cpuM);
  expect(usageOf(demandOf(toSourceConfig({}), { ...off, keptVolumeGi: 30 })).storageGi).toBe(30);
});

import { describe, expect, test } from 'vitest';
import { ConfigError, loadConfig } from '../../../src/config/index.ts';

const CLOUD = { BERTH_HOSTING: 'cloud' };

describe('a BuildKit daemon that all builds share', () => {
  const daemon = { ...CLOUD, BERTH_BUILD_BUILDKIT_HOST: 'tcp://buildkitd.builds:1234' };

  test('is rejected unless a setting states that all tenants trust each other', () => {
    expect(() => loadConfig(daemon)).toThrow(ConfigError);
    expect(() => loadConfig(daemon)).toThrow(/BERTH_BUILD_BUILDKIT_HOST.*BERTH_BUILD_BUILDKIT_SHARED=true/);
    expect(() => loadConfig({ ...daemon, BERTH_BUILD_BUILDKIT_SHARED: 'false' })).toThrow(ConfigError);
    const { builds } = loadConfig({ ...daemon, BERTH_BUILD_BUILDKIT_SHARED: 'true' });
    expect(builds?.buildkitHost).toBe('tcp://buildkitd.builds:1234');
  });

  test('is rejected in the same way at a unix socket', () => {
    const socket = { ...CLOUD, BERTH_BUILD_BUILDKIT_HOST: 'unix:///run/buildkitd.sock' };
    expect(() => loadConfig(socket)).toThrow(/BERTH_BUILD_BUILDKIT_SHARED=true/);
    const { builds } = loadConfig({ ...socket, BERTH_BUILD_BUILDKIT_SHARED: 'true' });
    expect(builds?.buildkitHost).toBe('unix:///run/buildkitd.sock');
  });
});

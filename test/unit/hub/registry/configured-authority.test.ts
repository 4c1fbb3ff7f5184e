import { describe, expect, it } from 'vitest';
import { configuredAuthority } from '../../../../src/app/registry-authority.ts';
import { ConfigError, loadConfig } from '../../../../src/config/index.ts';
import { generateSigningKey } from '../../../../src/hub/registry/signing-key.ts';

const KEY = generateSigningKey();
const authorityOf = (settings: Record<string, string>) => configuredAuthority(loadConfig(settings));

describe('the configured authority of the registry', () => {
  it('exists when registry and key are set, and not without a key', () => {
    const settings = { BERTH_REGISTRY: 'https://registry.example.com/apps/' };
    expect(authorityOf(settings)).toBeNull();
    expect(
      authorityOf({ ...settings, BERTH_REGISTRY_SIGNING_KEY: KEY.replaceAll('\n', '\\n') }),
    ).toMatchObject({
      host: 'registry.example.com',
    });
  });

  it.each([
    ['a key without a registry', {}, /BERTH_REGISTRY_SIGNING_KEY needs BERTH_REGISTRY, which is not set/],
    [
      'a text that is not a key',
      { BERTH_REGISTRY: 'r.example', BERTH_REGISTRY_SIGNING_KEY: 'x' },
      /BERTH_REGISTRY_SIGNING_KEY contains no/,
    ],
    [
      'a registry that no image can be under',
      { BERTH_REGISTRY: 'r.example/Apps' },
      /BERTH_REGISTRY: image names cannot begin with/,
    ],
    [
      'a registry of spaces',
      { BERTH_REGISTRY: 'r example' },
      /BERTH_REGISTRY: image names cannot begin with/,
    ],
    [
      'a path that is too long',
      { BERTH_REGISTRY: `r.example/${'a'.repeat(200)}` },
      /BERTH_REGISTRY: image names cannot begin with/,
    ],
  ])('rejects %s', (_what, settings, message) => {
    const start = () => authorityOf({ BERTH_REGISTRY_SIGNING_KEY: KEY, ...settings });
    expect(start).toThrow(ConfigError);
    expect(start).toThrow(message);
  });
});

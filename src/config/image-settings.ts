import { z } from 'zod';
import { registryHost } from '../domain/net/image-reference.ts';
import { type Setting, setting } from './setting.ts';
import type { Settings } from './settings.ts';
import { csv, flag } from './value-schemas.ts';

const OPERATOR = ['operator'] as const;

/** Registry hosts, in the form that image references use. */
const hosts = csv.refine(
  (parts) => parts.every((part) => /^[A-Za-z0-9.-]+(:\d{1,5})?$/.test(part)),
  'must be hosts such as registry.example.com or registry.example.com:5000, comma-separated',
);

/** How the operator resolves tags to digests (docs/image-digests.md). */
export const IMAGE_SETTINGS = {
  BERTH_RESOLVE_IMAGES: setting(
    flag,
    'false: images run as specified. Unset: the operator resolves a tag to its digest when a revision starts (docs/image-digests.md)',
    OPERATOR,
  ),
  BERTH_RESOLVE_TIMEOUT_SECONDS: setting(
    z.coerce.number().int().min(1).max(60).default(5),
    'seconds that the operator waits for a registry. After this time, the operator uses the tag',
    OPERATOR,
  ),
  BERTH_PRIVATE_REGISTRIES: setting(
    hosts,
    'registries with private addresses that the operator may call, comma-separated, with ports. Unset: in cloud mode only BERTH_REGISTRY, otherwise all',
    OPERATOR,
  ),
  BERTH_INSECURE_REGISTRIES: setting(
    hosts,
    'registries that use plain HTTP, comma-separated, with ports. Unset: none',
    [...OPERATOR, 'api'],
  ),
} as const satisfies Record<string, Setting>;

/** Whether the registry of the platform uses plain HTTP. */
export function isRegistryInsecure(settings: Settings): boolean {
  if (settings.BERTH_BUILD_INSECURE_REGISTRY === true) return true;
  const { BERTH_REGISTRY: registry, BERTH_INSECURE_REGISTRIES: insecure } = settings;
  return registry !== undefined && insecure.includes(registryHost(registry));
}

/** Settings of the digest resolver. null: tags are not resolved. */
export function imagesOf(settings: Settings) {
  if (settings.BERTH_RESOLVE_IMAGES === false) return null;
  const platform = settings.BERTH_REGISTRY === undefined ? [] : [registryHost(settings.BERTH_REGISTRY)];
  const listed = settings.BERTH_PRIVATE_REGISTRIES;
  const any = settings.BERTH_HOSTING !== 'cloud' && listed.length === 0;
  return {
    timeoutMs: settings.BERTH_RESOLVE_TIMEOUT_SECONDS * 1000,
    privateHosts: any ? ('any' as const) : [...platform, ...listed],
    closedNetworks: settings.BERTH_CLOSED_NETWORKS,
    insecureHosts: [
      ...settings.BERTH_INSECURE_REGISTRIES,
      ...(settings.BERTH_BUILD_INSECURE_REGISTRY === true ? platform : []),
    ],
  };
}

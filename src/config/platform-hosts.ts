import { registryHost } from '../domain/net/image-reference.ts';
import { canonicalHost, hostOf } from '../domain/net/url-host.ts';
import type { Settings } from './settings.ts';

/** Settings that hold the URL of a part of the platform. */
export const PLATFORM_URLS = [
  'BERTH_PUBLIC_URL',
  'BERTH_HUB_URL',
  'BERTH_TRACING_URL',
  'BERTH_OTLP_ENDPOINT',
  'BERTH_TRACES_ENDPOINT',
  'BERTH_BUILD_PROXY',
  'BERTH_BUILD_BUILDKIT_HOST',
] as const satisfies readonly (keyof Settings)[];

/**
 * Hosts of the platform itself, which no deployment may have: what clients and pods send there is not for a tenant. Of
 * BERTH_APP_DOMAIN it is the domain itself; the names below it are those of deployments.
 */
export function platformHostsOf(settings: Settings): string[] {
  const registry = settings.BERTH_REGISTRY;
  const hosts = [
    ...PLATFORM_URLS.map((name) => hostOf(settings[name])),
    registry === undefined ? null : hostOf(`https://${registryHost(registry)}`),
    hostOf(`https://${settings.BERTH_APP_DOMAIN ?? ''}`),
  ];
  return [...new Set(hosts.flatMap((host) => (host ? [canonicalHost(host)] : [])))];
}

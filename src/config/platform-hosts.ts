import { registryHost } from '../domain/net/image-reference.ts';
import { canonicalHost, hostOf } from '../domain/net/url-host.ts';
import type { Settings } from './settings.ts';

/** Settings that contain a URL of the platform. */
export const PLATFORM_URLS = [
  'BERTH_PUBLIC_URL',
  'BERTH_HUB_URL',
  'BERTH_TRACING_URL',
  'BERTH_OIDC_ISSUER',
  'BERTH_OTLP_ENDPOINT',
  'BERTH_TRACES_ENDPOINT',
  'BERTH_BUILD_PROXY',
  'BERTH_BUILD_BUILDKIT_HOST',
] as const satisfies readonly (keyof Settings)[];

/**
 * Hosts of the platform, which no deployment may use, because clients and pods send requests there that are not for a
 * tenant. The hosts include BERTH_APP_DOMAIN itself, but not the names below it, which belong to deployments.
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

import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { hostOf } from '../../domain/net/url-host.ts';

/**
 * Host of the desired URL of a custom resource, in lower case. null: no host. A stored resource may lack required
 * fields of the current CRD.
 */
export function wantedHost(spec: unknown): string | null {
  return hostOf((spec as { routing?: { url?: unknown } } | null | undefined)?.routing?.url);
}

/**
 * The additional hosts of a custom resource, without duplicates and without the host of its URL. Items that are not texts are
 * omitted, because a resource may be stored under another definition.
 */
export function wantedDomains(spec: unknown): string[] {
  const { domains } = (spec as { routing?: { domains?: unknown } } | null | undefined)?.routing ?? {};
  if (!Array.isArray(domains)) return [];
  const url = wantedHost(spec);
  const hosts = domains.filter((host): host is string => typeof host === 'string' && host !== url);
  return [...new Set(hosts)];
}

/** All hosts of a custom resource: that of its URL, and the additional ones. */
export function wantedHosts(spec: unknown): string[] {
  const url = wantedHost(spec);
  return [...(url === null ? [] : [url]), ...wantedDomains(spec)];
}

/** The external https URL of the app when its route exists. null: no route is created. */
export function appUrl(resource: ManagedDeployment, config: RenderConfig): string | null {
  return config.routing.mode === 'none' ? null : (resource.spec.routing.url ?? null);
}

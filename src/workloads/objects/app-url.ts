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

/** The external https URL of the app when its route exists. null: no route is created. */
export function appUrl(resource: ManagedDeployment, config: RenderConfig): string | null {
  return config.routing.mode === 'none' ? null : (resource.spec.routing.url ?? null);
}

import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { hostOf } from '../../domain/net/url-host.ts';

/** Host of the wanted URL of a custom resource, in lower case; null: none. What is stored may lack what the CRD of today asks for. */
export function wantedHost(spec: unknown): string | null {
  return hostOf((spec as { routing?: { url?: unknown } } | null | undefined)?.routing?.url);
}

/** The https URL under which the app answers from outside, once its route exists; null where no route is made. */
export function appUrl(resource: ManagedDeployment, config: RenderConfig): string | null {
  return config.routing.mode === 'none' ? null : (resource.spec.routing.url ?? null);
}

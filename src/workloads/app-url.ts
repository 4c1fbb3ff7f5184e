import type { ManagedDeployment } from '../contract/managed-deployment.ts';
import type { RenderConfig } from '../contract/render-config.ts';

/** The https URL under which the app answers from outside, once its route exists; null where no route is made. */
export function appUrl(resource: ManagedDeployment, config: RenderConfig): string | null {
  return config.routing.mode === 'none' ? null : (resource.spec.routing.url ?? null);
}

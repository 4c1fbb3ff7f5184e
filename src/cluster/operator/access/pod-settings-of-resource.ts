import type { ManagedDeploymentSpec } from '../../../contract/resource/managed-deployment.ts';
import type { PodSettings } from '../../../domain/pod-settings/pod-settings.ts';

/** The pod settings of a custom resource with the names of the API, for the rules of the API. */
export function podSettingsOfResource({
  podTemplate,
}: Pick<ManagedDeploymentSpec, 'podTemplate'>): PodSettings {
  const { securityProfile } = podTemplate;
  return securityProfile === undefined ? {} : { security_profile: securityProfile };
}

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  componentSettings,
  podSettingsOfResource,
  settingPath,
} from '../../../../src/contract/render/pod-settings.ts';
import { managedDeploymentSpecSchema } from '../../../../src/contract/resource/managed-deployment.ts';
import { podSettingsOf } from '../../../../src/domain/pod-settings/pod-settings.ts';
import { COMPONENTS } from '../../../../src/domain/resource-spec/components.ts';
import { fullPodSettings, podSettings } from '../../../arbitraries/pod-settings.ts';

/** A spec in which all components exist. */
function specWith(settings: ReturnType<typeof podSettingsOf>) {
  const components = Object.fromEntries(COMPONENTS.map((name) => [name, componentSettings(settings, name)]));
  const securityProfile = settings.security_profile;
  const podTemplate = securityProfile === undefined ? {} : { securityProfile };
  return managedDeploymentSpecSchema.parse({ revision: { image: 'web:1' }, components, podTemplate });
}

describe('pod settings in the custom resource', () => {
  test('are the same after they are read back', () => {
    fc.assert(
      fc.property(podSettings(), (settings) => {
        const given = podSettingsOf(settings);
        expect(podSettingsOfResource(specWith(given))).toEqual(given);
      }),
    );
  });

  test('have names in camelCase', () => {
    const { healthCheck } = specWith(fullPodSettings).components.api;
    expect(healthCheck).toEqual({
      type: 'http',
      path: '/healthz?full=1',
      port: 9000,
      timeoutSeconds: 2,
      periodSeconds: 20,
      failureThreshold: 4,
      startupSeconds: 90,
    });
  });

  test('are absent if they are not set', () => {
    const spec = specWith({});
    expect(podSettingsOfResource(spec)).toEqual({});
    expect(spec.components.queue).toEqual({ scale: { min: 1, max: 1 } });
  });

  test.each([
    [['security_profile'], 'spec.podTemplate.securityProfile'],
    [['health_checks', 'api'], 'spec.components.api.healthCheck'],
    [['health_checks', 'queue', 'period_seconds'], 'spec.components.queue.healthCheck.periodSeconds'],
    [['health_checks', 'api', 'command', 0], 'spec.components.api.healthCheck.command[0]'],
  ])('have the path of their field: %j', (path, expected) => {
    expect(settingPath(path)).toBe(expected);
  });
});

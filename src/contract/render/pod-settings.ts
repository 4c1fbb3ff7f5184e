import type { COMPONENT_SETTINGS, PodSettings } from '../../domain/pod-settings/pod-settings.ts';
import { COMPONENTS, type Component } from '../../domain/resource-spec/components.ts';
import type { ComponentSettings } from '../resource/component-settings.ts';
import type { ManagedDeploymentSpec } from '../resource/managed-deployment.ts';

/**
 * The pod settings of source_config in the custom resource, and back. A setting with one value per component is a field of
 * the component. Members of Berth have names in camelCase there.
 */

interface SettingNames {
  /** The field of a component. */
  readonly field: keyof ComponentSettings;
  /** Names of the members that differ. */
  readonly members: Readonly<Record<string, string>>;
}

type ComponentSetting = (typeof COMPONENT_SETTINGS)[number];

const NAMES: Readonly<Record<ComponentSetting, SettingNames>> = {
  health_checks: {
    field: 'healthCheck',
    members: {
      timeout_seconds: 'timeoutSeconds',
      period_seconds: 'periodSeconds',
      failure_threshold: 'failureThreshold',
      startup_seconds: 'startupSeconds',
    },
  },
  placement: { field: 'placement', members: { node_selector: 'nodeSelector' } },
  gpu: { field: 'gpu', members: {} },
};
const SETTINGS = Object.entries(NAMES) as [ComponentSetting, SettingNames][];

const renamed = (value: object, names: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [names[name] ?? name, member]));

const inverted = (names: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(names).map(([name, other]) => [other, name]));

/** The settings of a component in the custom resource, without those that are not set. */
export function componentSettings(settings: PodSettings, component: Component): ComponentSettings {
  const given = SETTINGS.flatMap(([setting, { field, members }]) => {
    const value = settings[setting]?.[component];
    return value === undefined ? [] : [[field, renamed(value, members)]];
  });
  return Object.fromEntries(given) as ComponentSettings;
}

/** The pod settings of a custom resource with the names of the API, for the schemas and rules of the API. */
export function podSettingsOfResource({
  components,
  podTemplate: { securityProfile },
}: Pick<ManagedDeploymentSpec, 'components' | 'podTemplate'>): PodSettings {
  const settings = SETTINGS.flatMap(([setting, { field, members }]) => {
    const given = COMPONENTS.flatMap((name) => {
      const value = components[name]?.[field];
      return value === undefined ? [] : [[name, renamed(value, inverted(members))]];
    });
    return given.length === 0 ? [] : [[setting, Object.fromEntries(given)]];
  });
  return {
    ...(securityProfile === undefined ? {} : { security_profile: securityProfile }),
    ...Object.fromEntries(settings),
  } as PodSettings;
}

/** A path below source_config as path in the custom resource: `health_checks`, `api`, `port`. */
export function settingPath([setting, component, ...rest]: readonly PropertyKey[]): string {
  if (setting === 'security_profile') return 'spec.podTemplate.securityProfile';
  const { field, members } = NAMES[setting as ComponentSetting];
  const [member, ...below] = rest;
  const named = member === undefined ? [] : [members[String(member)] ?? member, ...below];
  const steps = named.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
  return `spec.components.${String(component)}.${field}${steps.join('')}`;
}

import {
  type ComponentSettings,
  componentSettingsShape,
  type SettingsOfComponents,
} from '../contract/resource/component-settings.ts';
import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { COMPONENTS, type Component } from '../domain/resource-spec/components.ts';

type Components = ManagedDeployment['spec']['components'];

/** The settings of a component. */
function settingsOf(component: Components[Component] = undefined): ComponentSettings {
  const settings = Object.entries(component ?? {}).filter(([field]) =>
    Object.hasOwn(componentSettingsShape, field),
  );
  return Object.fromEntries(settings);
}

function settingsOfThese(components: Components, names: readonly Component[]): SettingsOfComponents {
  const given = names.map((name) => [name, settingsOf(components[name])] as const);
  return Object.fromEntries(given.filter(([, settings]) => Object.keys(settings).length > 0));
}

/** An object with the settings as its only member. It is empty if no component has settings. */
const asMember = (settings: SettingsOfComponents): { componentSettings?: SettingsOfComponents } =>
  Object.keys(settings).length === 0 ? {} : { componentSettings: settings };

/**
 * The settings of components, for hashes of what determines pods. The result is empty if no component has settings, so the
 * hashes of resources without settings are those of earlier versions.
 */
export function settingsOfComponents({ spec }: ManagedDeployment) {
  return asMember(settingsOfThese(spec.components, COMPONENTS));
}

/**
 * The settings of components that exist only because of a command. A later spec may not have these components, and then it
 * does not have their settings either.
 */
export function settingsOfCommandComponents({ spec: { components } }: ManagedDeployment) {
  const created = COMPONENTS.filter((name) => components[name]?.byCommand === true);
  return asMember(settingsOfThese(components, created));
}

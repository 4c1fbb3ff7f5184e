import { type ComponentSettings, componentSettingsShape } from '../contract/resource/component-settings.ts';
import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { COMPONENTS, type Component } from '../domain/resource-spec/components.ts';

/** The settings of each component that has any. */
type SettingsOfComponents = { readonly [C in Component]?: ComponentSettings };

/**
 * The settings of components, for hashes of what determines pods. The result is empty if no component has settings, so the
 * hashes of resources without settings are those of earlier versions.
 */
export function settingsOfComponents({ spec }: ManagedDeployment): {
  componentSettings?: SettingsOfComponents;
} {
  const given = COMPONENTS.flatMap((name) => {
    const component = spec.components[name] ?? {};
    const settings = Object.entries(component).filter(([field]) =>
      Object.hasOwn(componentSettingsShape, field),
    );
    return settings.length === 0 ? [] : [[name, Object.fromEntries(settings)] as const];
  });
  return given.length === 0 ? {} : { componentSettings: Object.fromEntries(given) };
}

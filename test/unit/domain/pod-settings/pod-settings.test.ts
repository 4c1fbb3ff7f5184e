import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SourceConfig } from '../../../../src/domain/deployment/deployment.ts';
import {
  sourceConfigBodySchema,
  toSourceConfig,
} from '../../../../src/domain/deployment/deployment-bodies.ts';
import {
  COMPONENT_SETTINGS,
  mergePodSettings,
  POD_SETTINGS,
  podSettingsOf,
  withoutPodSettings,
} from '../../../../src/domain/pod-settings/pod-settings.ts';
import { COMPONENTS, type Component } from '../../../../src/domain/resource-spec/components.ts';
import { fullPodSettings, inPlaceSettings, sentPodSettings } from '../../../arbitraries/pod-settings.ts';

type Values = { readonly [C in Component]?: unknown } | null | undefined;

function expectMergedByComponent(stored: Values, sent: Values, merged: Values): void {
  if (sent == null) return;
  for (const name of COMPONENTS) {
    const wanted = sent[name] === undefined ? stored?.[name] : (sent[name] ?? undefined);
    expect(merged?.[name]).toEqual(wanted);
  }
}

describe('pod settings', () => {
  test('are absent from what is stored when they are absent or null', () => {
    const stored = toSourceConfig({});
    expect(Object.keys(stored).filter((field) => (POD_SETTINGS as string[]).includes(field))).toEqual([]);
    const nulls = Object.fromEntries(POD_SETTINGS.map((field) => [field, null]));
    expect(toSourceConfig(sourceConfigBodySchema.parse(nulls))).toEqual(stored);
  });

  test('are all accepted by the schema and stored as they were sent', () => {
    expect(Object.keys(fullPodSettings)).toEqual(POD_SETTINGS);
    const parsed = sourceConfigBodySchema.parse(fullPodSettings);
    expect(podSettingsOf(toSourceConfig(parsed))).toEqual(fullPodSettings);
    fc.assert(
      fc.property(inPlaceSettings(), (settings) => {
        expect(podSettingsOf(sourceConfigBodySchema.parse(settings))).toEqual(podSettingsOf(settings));
      }),
    );
  });

  test('keep their values when a PATCH does not contain them, and are removed when it contains null', () => {
    fc.assert(
      fc.property(inPlaceSettings(), sentPodSettings(), (stored, sent) => {
        const merged = mergePodSettings(stored, sent);
        for (const field of POD_SETTINGS) {
          if (sent[field] === null) expect(merged).not.toHaveProperty(field);
          if (sent[field] === undefined) expect(merged[field]).toEqual(stored[field]);
        }
        for (const field of COMPONENT_SETTINGS)
          expectMergedByComponent(stored[field], sent[field], merged[field]);
        // A response that is sent back changes nothing.
        expect(mergePodSettings(merged, merged)).toEqual(merged);
      }),
    );
  });

  test('are separated from the other fields', () => {
    const config = { ...toSourceConfig({ install_command: 'make' }), ...fullPodSettings } as SourceConfig;
    expect(withoutPodSettings(config)).toEqual(toSourceConfig({ install_command: 'make' }));
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { POD_SETTING_ROWS } from '../../../scripts/resource-spec/pod-setting-rows.ts';
import { canonicalJson, contentHash } from '../../../src/domain/core/hash.ts';
import { POD_SETTINGS, type PodSettings } from '../../../src/domain/pod-settings/pod-settings.ts';
import { sameMeaning } from '../../../src/workloads/same-template.ts';
import {
  requestedPodsHash,
  templateInputsHash,
  writtenInputsHash,
} from '../../../src/workloads/template-inputs.ts';
import { fullPodSettings, podSettings } from '../../arbitraries/pod-settings.ts';
import { GOLDEN_CASES } from './golden-cases.ts';
import { withSettings } from './pod-settings-cases.ts';
import { type RequestBody, render, SELF_HOSTED } from './render-request.ts';

const EVERY_COMPONENT = { queue_cpu: 0.5, orchestrator_cpu: 1, executor_cpu: 1 };
const rendered = (settings: PodSettings) => render(withSettings(settings, EVERY_COMPONENT), SELF_HOSTED);

/** Hashes of the version before pod settings existed. Other values would restart every deployment at the upgrade. */
const FORMER_HASHES: Readonly<Record<string, readonly string[]>> = {
  minimal: [
    '7957f01ca1da0a0e',
    '3fee0f673b030017',
    'f624d274146d3fa29195bcd023df98bf8c9b38172002c0b120f54bbe98306c9c',
    'c495619c7dd4cd21',
    'f912b5039bb7ff8d',
  ],
  everything: [
    '12eeb3411fdf80fc',
    'bc8ad0951a19da5e',
    '8f6a34e6610f7265eb46d372bebb4179f37d63651ce33800cc5352d5b893d4aa',
    '08ce8bcc62627c87',
    '1def18441427b575',
  ],
};

describe('a deployment without pod settings', () => {
  test.each(Object.entries(FORMER_HASHES))('has the hashes of the previous version: %s', (name, hashes) => {
    const { request, config } = GOLDEN_CASES.find((each) => each.name === name) as {
      request: RequestBody;
      config: typeof SELF_HOSTED;
    };
    const { resource, templates } = render(request, config);
    expect([
      templateInputsHash(resource),
      writtenInputsHash(resource),
      requestedPodsHash(resource),
      contentHash(resource.spec),
      contentHash(templates),
    ]).toEqual(hashes);
  });
});

/** The value at `spec.containers[app].env`. */
function valueAt(root: unknown, path: string): unknown {
  return (path.match(/\[[^\]]*\]|[^.[\]]+/g) ?? []).reduce<unknown>((value, step) => {
    if (!step.startsWith('[')) return (value as Record<string, unknown> | undefined)?.[step];
    return (value as { name: string }[]).find(({ name }) => name === step.slice(1, -1));
  }, root);
}

describe('docs/resource-spec.md', () => {
  test('has the paths of all pod settings', () => {
    const toleration = { key: 'gpu', operator: 'Exists' } as const;
    const placement = { api: { ...fullPodSettings.placement.api, tolerations: [toleration] } };
    const apiOf = (settings: PodSettings) =>
      rendered(settings).objects.find(({ object }) => object.metadata.name.endsWith('-api'))?.object;
    const [without, api] = [apiOf({}), apiOf({ ...fullPodSettings, placement })];
    for (const { field, targets } of POD_SETTING_ROWS)
      for (const { path } of targets)
        expect(canonicalJson(valueAt(api, path) ?? null), `${field}: ${path}`).not.toBe(
          canonicalJson(valueAt(without, path) ?? null),
        );
    const named = POD_SETTING_ROWS.map(({ field }) => field.split('.')[0]);
    expect(new Set(named)).toEqual(new Set(POD_SETTINGS));
  });
});

describe('random pod settings', () => {
  test('have templates that depend on their inputs only, and return after a change', () => {
    fc.assert(
      fc.property(podSettings(), podSettings(), (a, b) => {
        const [first, second, third] = [rendered(a), rendered(b), rendered(a)];
        expect(canonicalJson(third.objects)).toBe(canonicalJson(first.objects));
        if (templateInputsHash(first.resource) === templateInputsHash(second.resource))
          expect(canonicalJson(first.templates)).toBe(canonicalJson(second.templates));
      }),
    );
  });

  test('that differ in the pods also differ in the hashes and the meaning of templates', () => {
    fc.assert(
      fc.property(podSettings(), podSettings(), (a, b) => {
        const [first, second] = [rendered(a), rendered(b)];
        if (canonicalJson(first.templates) === canonicalJson(second.templates)) return;
        expect(templateInputsHash(first.resource)).not.toBe(templateInputsHash(second.resource));
        expect(requestedPodsHash(first.resource)).not.toBe(requestedPodsHash(second.resource));
        const differs = Object.entries(first.templates).some(([component, template]) => {
          const other = second.templates[component as keyof typeof second.templates];
          return other === undefined || template === undefined || !sameMeaning(template, other);
        });
        expect(differs).toBe(true);
      }),
    );
  });

  test('never change database, cache and Services', () => {
    fc.assert(
      fc.property(podSettings(), (settings) => {
        const others = (given: PodSettings) =>
          rendered(given).objects.filter(
            ({ object }) => !/-(api|queue|orchestrator|executor)$/.test(object.metadata.name),
          );
        expect(others(settings)).toEqual(others({}));
      }),
    );
  });
});

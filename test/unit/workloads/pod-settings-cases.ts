import type { PodSettings } from '../../../src/domain/pod-settings/pod-settings.ts';
import { fullPodSettings } from '../../arbitraries/pod-settings.ts';
import { minimalRequest, type RequestBody } from './render-request.ts';

/** The inputs of golden tests for the pod settings of source_config. */

/** A small request with pod settings, and the sizes of components that exist. */
export function withSettings(settings: PodSettings, spec: object = {}): RequestBody {
  const request = minimalRequest(spec);
  return { ...request, source_config: { ...request.source_config, ...settings } };
}

/** One pod setting at a time, and variants that render differently. */
export const POD_SETTING_CASES: readonly { field: string; request: RequestBody }[] = [
  ...(Object.keys(fullPodSettings) as (keyof PodSettings)[]).map((field) => ({
    field,
    request: withSettings({ [field]: fullPodSettings[field] }),
  })),
  {
    field: 'security_profile.baseline',
    request: withSettings({ security_profile: 'baseline' }),
  },
];

import type { HealthCheck } from '../../../src/domain/pod-settings/health-check.ts';
import { COMPONENT_SETTINGS, type PodSettings } from '../../../src/domain/pod-settings/pod-settings.ts';
import { fullPodSettings } from '../../arbitraries/pod-settings.ts';
import { minimalRequest, type RequestBody } from './render-request.ts';

/** The inputs of golden tests for the pod settings of source_config. */

/** A small request with pod settings, and the sizes of components that exist. */
export function withSettings(settings: PodSettings, spec: object = {}): RequestBody {
  const request = minimalRequest(spec);
  return { ...request, source_config: { ...request.source_config, ...settings } };
}

/** Sizes that create the components with settings. */
const QUEUE = { queue_cpu: 0.5 };
/** Data services of the tenant, which Berth does not run in any case. */
const external = (settings: PodSettings): RequestBody => ({
  ...withSettings(settings),
  secrets: ['DATABASE_URI_CUSTOM', 'CACHE_URI_CUSTOM'].map((name) => ({ name, value: 'never shown' })),
});
const check = (api: HealthCheck) => withSettings({ health_checks: { api } });

const TOLERATIONS = [
  { key: 'nvidia.com/gpu', operator: 'Exists' as const, effect: 'NoSchedule' as const },
  { key: 'example.com/pool', value: 'batch' },
  {
    key: 'node.kubernetes.io/unreachable',
    operator: 'Exists' as const,
    effect: 'NoExecute' as const,
    tolerationSeconds: 30,
  },
];

/** One pod setting at a time, and variants that render differently. */
export const POD_SETTING_CASES: readonly { field: string; request: RequestBody }[] = [
  ...(Object.keys(fullPodSettings) as (keyof PodSettings)[]).map((field) => ({
    field,
    request: withSettings(
      { [field]: fullPodSettings[field] },
      (COMPONENT_SETTINGS as readonly string[]).includes(field) ? QUEUE : {},
    ),
  })),
  { field: 'security_profile.baseline', request: withSettings({ security_profile: 'baseline' }) },
  { field: 'health_checks.http', request: check({ type: 'http' }) },
  { field: 'health_checks.tcp', request: check({ type: 'tcp', period_seconds: 6 }) },
  {
    field: 'placement.tolerations',
    request: withSettings({ placement: { api: { tolerations: TOLERATIONS } } }),
  },
  { field: 'gpu.api', request: withSettings({ gpu: { api: { resource: 'amd.com/gpu', count: 1 } } }) },
  {
    field: 'health_checks.slow',
    request: check({ type: 'http', timeout_seconds: 10, startup_seconds: 95 }),
  },
  { field: 'health_checks.none', request: check({ type: 'none' }) },
  { field: 'database.external', request: external({ database: { enabled: false } }) },
  { field: 'cache.external', request: external({ cache: { enabled: false } }) },
];

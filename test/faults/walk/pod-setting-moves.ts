/** Changes of the pod settings and of database and cache, beside resource_spec. All of them run on the simulated nodes (test/cluster/manifests/nodes.yaml). */
import type { PodSettingsBody } from '../../../src/domain/pod-settings/pod-settings.ts';
import type { Random } from './random.ts';

const CHECK = { type: 'http', path: '/healthz', startup_seconds: 60 } as const;
const NEAR = {
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 5,
          preference: {
            matchExpressions: [{ key: 'walk.example/pool', operator: 'In', values: ['a', 'b'] }],
          },
        },
      ],
    },
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        {
          labelSelector: { matchLabels: { 'walk.example/noisy': 'true' } },
          topologyKey: 'kubernetes.io/hostname',
        },
      ],
    },
  },
} as const;

/** The policy of a walk, which allows pods on the reserved node. */
export const WALK_POLICY = 'placement:\n  tolerations: [sim.example/reserved]\n';

/** The reserved node of the cluster. WALK_POLICY allows the toleration. */
const RESERVED = {
  node_selector: { 'sim.example/pool': 'reserved' },
  tolerations: [{ key: 'sim.example/reserved', operator: 'Exists', effect: 'NoSchedule' }],
} as const;
const device = (count: number) => ({ resource: 'sim.example/device', count });

export const POD_SETTING_CHANGES: readonly PodSettingsBody[] = [
  { security_profile: 'restricted' },
  { security_profile: 'baseline' },
  { security_profile: null },
  { health_checks: { api: CHECK } },
  { health_checks: { api: { ...CHECK, port: 9000, period_seconds: 20 }, queue: { type: 'tcp' } } },
  { health_checks: { api: { type: 'none' }, executor: { type: 'exec', command: ['/bin/true'] } } },
  { health_checks: { api: null } },
  { health_checks: null },
  { placement: { api: NEAR } },
  { placement: { api: { affinity: { nodeAffinity: NEAR.affinity.nodeAffinity } }, queue: NEAR } },
  { placement: { api: { node_selector: {}, tolerations: [] } } },
  { placement: { api: RESERVED } },
  { placement: { api: { tolerations: RESERVED.tolerations }, queue: { ...RESERVED, ...NEAR } } },
  { placement: { queue: { node_selector: { 'kubernetes.io/os': 'linux' } } } },
  { placement: { queue: null } },
  { gpu: { api: device(1) } },
  { gpu: { api: device(2), queue: device(1) } },
  { gpu: { api: null } },
  { gpu: null },
  { placement: null },
  { security_profile: null, health_checks: null, placement: null, gpu: null },
  { cache: { enabled: false } },
  { cache: { enabled: true } },
  { cache: null },
  { database: { enabled: false } },
  { database: { enabled: false }, cache: { enabled: false } },
  { database: { enabled: true } },
  { database: null, cache: null },
] as unknown as readonly PodSettingsBody[];

/** A random change of the pod settings. */
export function podSettingMove(random: Random): { readonly what: string; readonly change: PodSettingsBody } {
  const change = random.pick(POD_SETTING_CHANGES);
  return { what: `pod settings ${JSON.stringify(change)}`, change };
}

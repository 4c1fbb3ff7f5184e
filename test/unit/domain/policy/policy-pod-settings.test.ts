import { describe, expect, test } from 'vitest';
import { parsePolicy } from '../../../../src/app/policy/policy-file.ts';
import type { SourceConfig } from '../../../../src/domain/deployment/deployment.ts';
import { HOSTING_MODES, type HostingMode } from '../../../../src/domain/deployment/source.ts';
import type { PodSettings } from '../../../../src/domain/pod-settings/pod-settings.ts';
import type { Toleration } from '../../../../src/domain/pod-settings/toleration.ts';
import { type PolicyFile, resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { podPolicyViolations, policyViolations } from '../../../../src/domain/policy/policy-rules.ts';
import type { ResourceSpec } from '../../../../src/domain/resource-spec/resource-spec.ts';

/** The paths below source_config that the policy rejects. The rules for pods reject the same ones. */
function refused(
  hosting: HostingMode,
  settings: PodSettings,
  { spec = {}, file = {} }: { spec?: ResourceSpec; file?: PolicyFile } = {},
): string[] {
  const policy = resolvePolicy(hosting, file);
  const sourceConfig = {
    deployment_type: null,
    custom_url: null,
    resource_spec: spec,
    ...settings,
  } as SourceConfig;
  const input = { sourceConfig, secrets: [], appName: 'shop-0a1b2c3d', ownHost: null, serverUrl: null };
  const paths = policyViolations(input, policy).map(({ loc }) => loc.slice(1).join('.'));
  const ofPods = podPolicyViolations({ spec, settings }, 'shop-0a1b2c3d', policy);
  expect(ofPods.map(({ loc }) => loc.slice(1).join('.'))).toEqual(paths);
  return paths;
}

describe('security_profile', () => {
  test('can be restricted in both hosting modes, and baseline only in self_hosted', () => {
    for (const hosting of HOSTING_MODES)
      expect(refused(hosting, { security_profile: 'restricted' })).toEqual([]);
    expect(refused('self_hosted', { security_profile: 'baseline' })).toEqual([]);
    expect(refused('cloud', { security_profile: 'baseline' })).toEqual(['security_profile']);
  });

  test('is rejected when the policy does not list the profile, or requires the level restricted', () => {
    const baseline: PodSettings = { security_profile: 'baseline' };
    const only: PolicyFile = { security_profiles: ['baseline'] };
    expect(refused('self_hosted', { security_profile: 'restricted' }, { file: only })).toEqual([
      'security_profile',
    ]);
    expect(refused('self_hosted', baseline, { file: { pod_security: 'restricted' } })).toEqual([
      'security_profile',
    ]);
    expect(refused('self_hosted', baseline, { file: { pod_security: 'privileged' } })).toEqual([]);
  });

  test('restricted rejects containers and volumes below this level', () => {
    const spec: ResourceSpec = {
      sidecars: [{ name: 'a', image: 'a:1', securityContext: { runAsUser: 0 } }],
      volumes: [{ name: 'v', nfs: { server: 'a', path: '/' } }],
    };
    expect(refused('self_hosted', {}, { spec })).toEqual([]);
    expect(refused('self_hosted', { security_profile: 'restricted' }, { spec })).toEqual([
      'resource_spec.sidecars.0.securityContext.runAsUser',
      'resource_spec.volumes.0.nfs',
    ]);
  });

  test('baseline cannot be added by the policy file of a cloud installation', () => {
    const file = 'security_profiles: [baseline]\npod_security: baseline';
    expect(parsePolicy({ hosting: 'self_hosted' }, file, 'policy').security_profiles).toEqual(['baseline']);
    expect(() => parsePolicy({ hosting: 'cloud' }, file, 'policy')).toThrow(/security_profiles.*cloud mode/);
  });
});

describe('health_checks', () => {
  const command: PodSettings = { health_checks: { queue: { type: 'exec', command: ['a'] } } };
  const often: PodSettings = { health_checks: { api: { type: 'tcp', period_seconds: 1 } } };

  test('can run commands in both hosting modes, unless the policy forbids them', () => {
    for (const hosting of HOSTING_MODES) {
      expect(refused(hosting, command)).toEqual([]);
      expect(refused(hosting, command, { file: { health_checks: { exec: false } } })).toEqual([
        'health_checks.queue.type',
      ]);
    }
  });

  test('cannot be more frequent than the policy allows', () => {
    expect(refused('self_hosted', often)).toEqual([]);
    expect(refused('cloud', often)).toEqual(['health_checks.api.period_seconds']);
    expect(refused('cloud', { health_checks: { api: { type: 'tcp' } } })).toEqual([]);
    expect(refused('cloud', often, { file: { health_checks: { min_period_seconds: 1 } } })).toEqual([]);
  });

  test('must set their period when the default is more frequent than the policy allows', () => {
    const file = { health_checks: { min_period_seconds: 10 } };
    const check = (api: object) => refused('cloud', { health_checks: { api } } as PodSettings, { file });
    expect(check({ type: 'tcp' })).toEqual(['health_checks.api.period_seconds']);
    expect(check({ type: 'tcp', period_seconds: 10 })).toEqual([]);
    expect(check({ type: 'none' })).toEqual([]);
  });
});

describe('placement', () => {
  const selector: PodSettings = { placement: { queue: { node_selector: { 'example.com/pool': 'a' } } } };
  const toleration = (...tolerations: Toleration[]): PodSettings => ({ placement: { api: { tolerations } } });
  const affinity: PodSettings = {
    placement: {
      api: {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                {
                  matchExpressions: [{ key: 'disk', operator: 'Exists' }],
                  matchFields: [{ key: 'metadata.name', operator: 'In', values: ['node-1'] }],
                },
              ],
            },
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, preference: { matchExpressions: [{ key: 'zone', operator: 'Exists' }] } },
            ],
          },
        },
      },
    },
  };
  const gpu: Toleration = { key: 'gpu', operator: 'Exists', effect: 'NoSchedule' };

  test('can have any selector and affinity, and no toleration, in self_hosted', () => {
    expect(refused('self_hosted', selector)).toEqual([]);
    expect(refused('self_hosted', affinity)).toEqual([]);
    expect(refused('self_hosted', toleration(gpu))).toEqual(['placement.api.tolerations.0']);
  });

  test('can have nothing in cloud', () => {
    expect(refused('cloud', selector)).toEqual(['placement.queue.node_selector.example.com/pool']);
    expect(refused('cloud', affinity)).toEqual(['placement.api.affinity']);
    expect(refused('cloud', toleration(gpu))).toEqual(['placement.api.tolerations.0']);
    expect(refused('cloud', { placement: { api: { node_selector: {}, tolerations: [] } } })).toEqual([]);
  });

  test('has the same rule for selectors and for the labels of an affinity', () => {
    const file: PolicyFile = { placement: { selector_keys: ['disk', 'example.com/*'] } };
    expect(refused('self_hosted', selector, { file })).toEqual([]);
    const node = 'placement.api.affinity.nodeAffinity';
    expect(refused('self_hosted', affinity, { file })).toEqual([
      `${node}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.0.matchFields.0.key`,
      `${node}.preferredDuringSchedulingIgnoredDuringExecution.0.preference.matchExpressions.0.key`,
    ]);
  });

  test.each<[Toleration, string, boolean]>([
    [gpu, 'gpu', true],
    [gpu, 'gpu:NoSchedule', true],
    [gpu, 'gpu:NoExecute', false],
    [gpu, 'gpu=true', false],
    [gpu, '*', true],
    [gpu, 'g', false],
    [{ key: 'gpu', value: 'true' }, 'gpu=true', true],
    [{ key: 'gpu', value: 'true' }, 'gpu=true:NoSchedule', false],
    [{ key: 'gpu', value: 'true' }, 'gpu=t*', true],
    [{ key: 'gpu' }, 'gpu=true', false],
    [{ key: 'gpu' }, 'gpu=', true],
    [{ key: 'nvidia.com/gpu', operator: 'Exists' }, 'nvidia.com/*', true],
    // Everything is tolerated, so everything must be allowed.
    [{ operator: 'Exists' }, 'gpu', false],
    [{ operator: 'Exists' }, 'g*', false],
    [{ operator: 'Exists' }, '*', true],
    [{ operator: 'Exists', effect: 'NoExecute' }, '*:NoSchedule', false],
  ])('with the toleration %j and the entry %s is allowed: %s', (given, entry, allowed) => {
    const file: PolicyFile = { placement: { tolerations: ['other', entry] } };
    expect(refused('cloud', toleration(given), { file })).toEqual(
      allowed ? [] : ['placement.api.tolerations.0'],
    );
  });
});

describe('gpu', () => {
  const gpu: PodSettings = { gpu: { queue: { resource: 'nvidia.com/gpu', count: 1 } } };

  test('can be any extended resource in self_hosted, and none in cloud', () => {
    expect(refused('self_hosted', gpu)).toEqual([]);
    expect(refused('cloud', gpu)).toEqual(['gpu.queue.resource']);
  });

  test('can be a resource that the policy lists', () => {
    const file: PolicyFile = { resources: { allowed_extended: ['nvidia.com/*'] } };
    expect(refused('cloud', gpu, { file })).toEqual([]);
    expect(refused('cloud', { gpu: { api: { resource: 'amd.com/gpu', count: 1 } } }, { file })).toEqual([
      'gpu.api.resource',
    ]);
  });
});

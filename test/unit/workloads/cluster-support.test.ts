import { describe, expect, test } from 'vitest';
import {
  asksForLater,
  kubernetesAtLeast,
  unsupportedByCluster,
} from '../../../src/workloads/cluster-support.ts';
import { fullPodSettings } from '../../arbitraries/pod-settings.ts';
import { withSettings } from './pod-settings-cases.ts';
import { minimalRequest, render, resourceOf, SELF_HOSTED } from './render-request.ts';

const on = (kubernetesVersion: string) => ({ ...SELF_HOSTED, kubernetesVersion });

test.each([
  ['1.29', false],
  ['1.30', true],
  ['1.30+', true],
  ['1.100', true],
  ['2.0', true],
])('decides whether %s is 1.30 or newer: %s', (version, expected) => {
  expect(kubernetesAtLeast(on(version), 1, 30)).toBe(expected);
});

describe('an older cluster', () => {
  const helper = { name: 'helper', image: 'helper:1' };
  const request = minimalRequest({
    init_containers: [{ ...helper, restartPolicy: 'Always' }],
    sidecars: [{ ...helper, name: 'once', restartPolicy: 'Never' }],
  });
  const resource = resourceOf(request, SELF_HOSTED);

  test('does not support newer restart policies, and the message names the required version', () => {
    expect(unsupportedByCluster(resource, on('1.34'))).toEqual([
      {
        path: ['resource_spec', 'sidecars', 0, 'restartPolicy'],
        resourcePath: 'spec.podTemplate.sidecars[0].restartPolicy',
        message: 'Never needs Kubernetes 1.35 or newer; the cluster has version 1.34',
      },
    ]);
    expect(unsupportedByCluster(resource, on('1.35'))).toEqual([]);
  });

  test('is not checked for features that every cluster supports', () => {
    expect(asksForLater({})).toBe(false);
    const later = (spec: object) => asksForLater({ resource_spec: spec });
    expect(later({ sidecars: [{ ...helper, restartPolicy: 'Always' }, helper] })).toBe(false);
    expect(later({ init_containers: [{ ...helper, restartPolicy: 'OnFailure' }] })).toBe(true);
    const { placement } = fullPodSettings;
    expect(asksForLater({ placement })).toBe(true);
    expect(asksForLater({ placement: { queue: placement.queue } })).toBe(false);
  });

  test('does not support label keys of a pod affinity before 1.31', () => {
    const { placement } = fullPodSettings;
    const placed = resourceOf(withSettings({ placement }, { queue_cpu: 1 }), SELF_HOSTED);
    const preferred = 'podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm';
    const required = 'podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]';
    const at = 'spec.components.api.placement.affinity';
    expect(unsupportedByCluster(placed, on('1.30'))).toMatchObject([
      {
        path: [
          'placement',
          'api',
          'affinity',
          'podAffinity',
          /^preferred/,
          0,
          'podAffinityTerm',
          'matchLabelKeys',
        ].map((step) => (step instanceof RegExp ? expect.stringMatching(step) : step)),
        resourcePath: `${at}.${preferred}.matchLabelKeys`,
        message: 'matchLabelKeys needs Kubernetes 1.31 or newer; the cluster has version 1.30',
      },
      { resourcePath: `${at}.${required}.mismatchLabelKeys` },
    ]);
    expect(unsupportedByCluster(placed, on('1.31'))).toEqual([]);
  });

  test('gets no preStop.sleep before 1.30', () => {
    const lifecycle = (version: string) =>
      render(minimalRequest(), on(version)).templates.api?.spec?.containers[0]?.lifecycle;
    expect(lifecycle('1.29')).toBeUndefined();
    expect(lifecycle('1.30')).toEqual({ preStop: { sleep: { seconds: 5 } } });
  });
});

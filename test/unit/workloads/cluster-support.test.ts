import { describe, expect, test } from 'vitest';
import {
  asksForLater,
  kubernetesAtLeast,
  unsupportedByCluster,
} from '../../../src/workloads/cluster-support.ts';
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
        path: ['sidecars', 0, 'restartPolicy'],
        resourcePath: 'spec.podTemplate.sidecars[0].restartPolicy',
        message: 'Never needs Kubernetes 1.35 or newer; the cluster has version 1.34',
      },
    ]);
    expect(unsupportedByCluster(resource, on('1.35'))).toEqual([]);
  });

  test('is not checked for features that every cluster supports', () => {
    expect(asksForLater({})).toBe(false);
    expect(asksForLater({ sidecars: [{ ...helper, restartPolicy: 'Always' }, helper] })).toBe(false);
    expect(asksForLater({ init_containers: [{ ...helper, restartPolicy: 'OnFailure' }] })).toBe(true);
  });

  test('gets no preStop.sleep before 1.30', () => {
    const lifecycle = (version: string) =>
      render(minimalRequest(), on(version)).templates.api?.spec?.containers[0]?.lifecycle;
    expect(lifecycle('1.29')).toBeUndefined();
    expect(lifecycle('1.30')).toEqual({ preStop: { sleep: { seconds: 5 } } });
  });
});

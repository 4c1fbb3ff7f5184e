import { expect, test } from 'vitest';
import { withEphemeralStorage } from '../../../../src/workloads/objects/container-resources.ts';

const CONFIG = { ephemeralStorage: { request: '64Mi', limit: '50Gi' } };
const cpu = { requests: { cpu: '1' }, limits: { cpu: '2' } };

test('adds ephemeral storage to the other resources, and to containers without resources', () => {
  expect(withEphemeralStorage(cpu, CONFIG)).toEqual({
    requests: { cpu: '1', 'ephemeral-storage': '64Mi' },
    limits: { cpu: '2', 'ephemeral-storage': '50Gi' },
  });
  expect(withEphemeralStorage(undefined, CONFIG)).toEqual({
    requests: { 'ephemeral-storage': '64Mi' },
    limits: { 'ephemeral-storage': '50Gi' },
  });
});

test('changes nothing when the configuration has no ephemeral storage', () => {
  expect(withEphemeralStorage(cpu, {})).toBe(cpu);
  expect(
    withEphemeralStorage(undefined, { ephemeralStorage: { request: null, limit: null } }),
  ).toBeUndefined();
  expect(withEphemeralStorage(cpu, { ephemeralStorage: { request: '1Gi', limit: null } })).toEqual({
    ...cpu,
    requests: { cpu: '1', 'ephemeral-storage': '1Gi' },
  });
});

test('adds the declared sizes of emptyDir volumes on disk to the limit', () => {
  const volumes = [
    { name: 'a', emptyDir: { sizeLimit: '10Gi' } },
    { name: 'b', emptyDir: { sizeLimit: '512Mi', medium: '' as const } },
    { name: 'c', emptyDir: { sizeLimit: '1Gi', medium: 'Memory' as const } },
    { name: 'd', emptyDir: {} },
    { name: 'e', configMap: { name: 'x' } },
  ];
  const limitOf = (given: Parameters<typeof withEphemeralStorage>[2]) =>
    withEphemeralStorage(undefined, CONFIG, given)?.limits?.['ephemeral-storage'];
  expect(limitOf(volumes)).toBe('61952Mi');
  expect(limitOf(volumes.slice(0, 1))).toBe('60Gi');
  expect(limitOf(volumes.slice(2))).toBe('50Gi');
});

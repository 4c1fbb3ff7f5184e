import { describe, expect, test } from 'vitest';
import { sourceConfigBodySchema } from '../../../../src/domain/deployment/deployment-bodies.ts';
import { MAX_GPUS } from '../../../../src/domain/pod-settings/gpu.ts';

/** Paths below gpu.api that the schema rejects. */
function rejected(gpu: object): string[] {
  const { error } = sourceConfigBodySchema.safeParse({ gpu: { api: gpu } });
  return (error?.issues ?? []).map(({ path }) => path.slice(2).join('.'));
}

describe('GPUs', () => {
  test.each<[string, object, string[]]>([
    ['no resource', { count: 1 }, ['resource']],
    ['no count', { resource: 'nvidia.com/gpu' }, ['count']],
    ['cpu as resource', { resource: 'cpu', count: 1 }, ['resource']],
    ['huge pages as resource', { resource: 'hugepages-2Mi', count: 1 }, ['resource']],
    ['a resource without a domain', { resource: 'gpu', count: 1 }, ['resource']],
    ['a resource of Kubernetes', { resource: 'kubernetes.io/gpu', count: 1 }, ['resource']],
    ['no devices', { resource: 'nvidia.com/gpu', count: 0 }, ['count']],
    ['half a device', { resource: 'nvidia.com/gpu', count: 0.5 }, ['count']],
    ['too many devices', { resource: 'nvidia.com/gpu', count: MAX_GPUS + 1 }, ['count']],
  ])('are rejected with %s, and the error names the member', (_what, gpu, paths) => {
    expect(rejected(gpu)).toEqual(paths);
  });

  test('are accepted within the limits', () => {
    expect(rejected({ resource: 'nvidia.com/gpu', count: 1 })).toEqual([]);
    expect(rejected({ resource: 'nvidia.com/gpu.shared', count: MAX_GPUS })).toEqual([]);
  });
});

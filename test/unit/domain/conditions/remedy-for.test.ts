/** What to do about a problem depends on its cause, not only on its reason. */
import { describe, expect, test } from 'vitest';
import { remedyOf } from '../../../../src/domain/conditions/remedies.ts';
import { CAUSES_OF_REASONS } from '../../../../src/domain/conditions/remedy-causes.ts';
import { remedyFor } from '../../../../src/domain/conditions/remedy-for.ts';
import { CLAIM, ROWS } from './cause-rows.ts';

const text = (reason: string, message: string, more: object = {}) => {
  const remedy = remedyFor({ reason, message, ...more });
  return remedy !== null && 'text' in remedy ? remedy.text : '';
};

describe('the remedy of a cause', () => {
  test.each(ROWS)('fits the reason %s with the message "%s"', (reason, message, says) =>
    expect(text(reason, message)).toMatch(says),
  );

  test('names a redeploy exactly when the remedy of the reason does', () => {
    for (const [reason, message] of ROWS) {
      expect(text(reason, message).includes('redeploy')).toBe(text(reason, '').includes('redeploy'));
    }
  });

  test('is that of the reason when the message shows no cause', () => {
    for (const reason of [...Object.keys(CAUSES_OF_REASONS), 'Conflict', 'Available'])
      expect(remedyFor({ reason, message: 'it is so' })).toEqual(remedyOf(reason));
    expect(remedyFor({ reason: 'NeverHeardOf', message: 'x' })).toBeNull();
  });

  test.each<[string, string, boolean]>([
    ['1 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint(s)', 'has no name', true],
    ['2 node(s) had untolerated taint {gpu: true}, 3 Insufficient nvidia.com/gpu', 'reserves nodes', true],
    [
      '1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 2 Insufficient nvidia.com/gpu',
      'is that of the control plane',
      false,
    ],
    [
      '2 node(s) had untolerated taint {gpu: true}, 3 Insufficient cpu',
      'has nothing to do with a device',
      false,
    ],
  ])('%s: names tolerations when the taint %s: %s', (message, _what, expected) => {
    const field = 'source_config.placement.api.tolerations';
    expect(text('Unschedulable', message, { component: 'api' }).includes(field)).toBe(expected);
  });

  test.each(['database', 'cache'])('names no placement for the %s', (component) => {
    for (const [, message] of ROWS.filter(([reason]) => reason === 'Unschedulable'))
      expect(text('Unschedulable', message, { component })).not.toContain('source_config.placement');
  });

  test('names the field of the failure source, and the sizes of its component', () => {
    const message = 'Multi-Attach error for volume "pvc-1"';
    expect(text('MountFailed', message, { field: CLAIM })).toContain(CLAIM);
    expect(text('Unschedulable', 'Insufficient cpu', { component: 'executor' })).toContain('executor_cpu');
    expect(text('Unschedulable', 'Insufficient cpu', { condition: 'CacheReady' })).toContain('cache_cpu');
  });

  const MEMORY = 'resources.limits.memory';
  test.each([
    [
      'a sidecar by the failure source',
      { container: 'log', containerKind: 'sidecar' },
      'x',
      `sidecars[…].${MEMORY}`,
    ],
    [
      'an init container by the failure source',
      { container: 'm', containerKind: 'init' },
      'x',
      `init_containers[…].${MEMORY}`,
    ],
    [
      'the app by the failure source',
      { container: 'app', containerKind: 'app', component: 'queue' },
      'x',
      'queue_memory_limit_mb',
    ],
    [
      'a sidecar by the message',
      {},
      'api: Pod x: container log (sidecar): exit 137',
      `sidecars[…].${MEMORY}`,
    ],
    [
      'a sidecar without a role',
      {},
      'api: pod x, container log: OOMKilled: exit code 137',
      `sidecars[…].${MEMORY}`,
    ],
    [
      'an init container by the message',
      {},
      'pod x, container m (init): exit code 137',
      `init_containers[…].${MEMORY}`,
    ],
    [
      'the app by the message',
      {},
      'executor: pod x, container app: exit code 137',
      'executor_memory_limit_mb',
    ],
    [
      'the container of this cause alone',
      {},
      'api: pod x, container log (sidecar): exit code 137 (OOMKilled); also queue: pod y, container m (init): Error',
      `sidecars[…].${MEMORY}`,
    ],
    [
      'the database',
      { component: 'database', container: 'database', containerKind: 'sidecar' },
      'x',
      'db_memory_limit_mb',
    ],
    ['the cache', { condition: 'CacheReady' }, 'pod x, container cache: exit code 137', 'cache_memory_mb'],
  ])('names the memory limit of %s', (_, more, message, field) => {
    const said = text('CrashLoop', `${message}: OOMKilled`, more);
    expect(said).toContain(`raise source_config.resource_spec.${field}`);
    expect(said.match(/memory_(?:limit_)?mb/) === null).toBe(field.includes('[…]'));
  });

  test('names no field of volumes for the volume of the database', () => {
    const condition = 'DatabaseReady';
    for (const [reason, message] of [
      ['MountFailed', 'Multi-Attach error for volume "pvc-1"'],
      ['Unschedulable', '1 node(s) had volume node affinity conflict'],
      ['Unschedulable', 'pod has unbound immediate PersistentVolumeClaims'],
    ] as const) {
      expect(text(reason, message, { condition })).toMatch(/of the database/);
      expect(text(reason, message, { condition })).not.toContain('.volumes');
    }
  });

  test('does not depend on the name of an image', () =>
    expect(
      text(
        'ImagePullFailed',
        'failed to resolve reference "r.test/denied/429:1": r.test/denied/429:1: not found',
      ),
    ).toMatch(/does not have the image/));

  test('contains no placeholder', () => {
    for (const [reason, message] of ROWS)
      expect(text(reason, message)).not.toMatch(/\{(?:cpu|memory|scale|volume|field)/);
    for (const { causes } of Object.values(CAUSES_OF_REASONS))
      for (const { text: each } of causes)
        for (const [, name] of each.matchAll(/\{(\w+)\}/g))
          expect([
            'cpu',
            'cpuLimit',
            'memory',
            'memoryLimit',
            'scale',
            'placement',
            'gpu',
            'volume',
            'field',
          ]).toContain(name);
  });
});

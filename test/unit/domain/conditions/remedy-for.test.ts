/** What to do about a problem depends on its cause, not only on its reason. */
import { describe, expect, test } from 'vitest';
import { remedyOf } from '../../../../src/domain/conditions/remedies.ts';
import { CAUSES_OF_REASONS } from '../../../../src/domain/conditions/remedy-causes.ts';
import { remedyFor } from '../../../../src/domain/conditions/remedy-for.ts';

const CLAIM = 'source_config.resource_spec.volumes[1].persistentVolumeClaim.claimName';
const text = (reason: string, message: string, more: object = {}) => {
  const remedy = remedyFor({ reason, message, ...more });
  return remedy !== null && 'text' in remedy ? remedy.text : '';
};

const ROWS: readonly [reason: string, message: string, says: RegExp][] = [
  [
    'Unschedulable',
    `0/1 nodes are available: 1 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode.; named by ${CLAIM}`,
    /one pod at a time.*volumes\[1\]/i,
  ],
  [
    'Unschedulable',
    '0/1 nodes are available: 1 Insufficient cpu.',
    /less CPU \(source_config\.resource_spec\.cpu\)/,
  ],
  [
    'Unschedulable',
    'queue: pod x: Unschedulable: 0/1 nodes are available: 1 Insufficient memory.',
    /queue_memory_mb/,
  ],
  [
    'Unschedulable',
    'the database is not ready yet: pod x: Unschedulable: 0/1 nodes: 1 Insufficient memory.',
    /db_memory_mb/,
  ],
  [
    'Unschedulable',
    '0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient cpu.',
    /less CPU/,
  ],
  ['Unschedulable', '0/3 nodes are available: 3 node(s) had untolerated taint {a: b}.', /taints/],
  [
    'Unschedulable',
    `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had volume node affinity conflict.; named by ${CLAIM}`,
    /volumes\[1\].*only from certain nodes.*less CPU|less CPU.*certain nodes/,
  ],
  [
    'Unschedulable',
    '0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found',
    /no volume yet/,
  ],
  [
    'Unschedulable',
    "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind.",
    /no volume yet/,
  ],
  [
    'Unschedulable',
    "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints.",
    /topology/,
  ],
  [
    'Unschedulable',
    'queue: pod x: Unschedulable: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.',
    /missing or in use.*source_config\.gpu\.queue/,
  ],
  [
    'QuotaExceeded',
    'api: exceeded quota: small, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=4, limited: requests.nvidia.com/gpu=4',
    /no GPUs.*source_config\.gpu\.api/,
  ],
  ['Unschedulable', '0/1 nodes are available: 1 Too many pods.', /fewer pods/],
  [
    'Unschedulable',
    "queue: pod x: Unschedulable: 0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    /source_config\.placement\.queue\. Check that nodes have the labels/,
  ],
  [
    'Unschedulable',
    "api: pod x: Unschedulable: 0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint {gpu: true}.",
    /node_selector.*toleration for it to source_config\.placement\.api\.tolerations/,
  ],
  [
    'Unschedulable',
    'api: pod x: Unschedulable: 0/2 nodes are available: 2 node(s) had untolerated taint {gpu: true}.',
    /toleration for the taint that the message names to source_config\.placement\.api\.tolerations/,
  ],
  [
    'Unschedulable',
    '0/1 nodes are available: 1 Insufficient nvidia.com/gpu.',
    /resource that the message names/,
  ],
  [
    'MountFailed',
    'Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) a',
    /attached to another node/,
  ],
  [
    'MountFailed',
    'MountVolume.SetUp failed for volume "keys" : secret "shop-keys" not found',
    /Create the Secret/,
  ],
  [
    'MountFailed',
    'MountVolume.SetUp failed for volume "c" : configmap "flags" not found',
    /Create the ConfigMap/,
  ],
  [
    'MountFailed',
    'MountVolume.SetUp failed for volume "keys" : references non-existent secret key: a',
    /Add the key/,
  ],
  [
    'MountFailed',
    '0/1 nodes are available: persistentvolumeclaim "data" not found.',
    /Create the PersistentVolumeClaim/,
  ],
  ['MountFailed', 'mount.nfs: access denied by server while mounting a:/b', /server and path/],
  ['MountFailed', 'driver name x.csi not found in the list of registered CSI drivers', /CSI driver/],
  [
    'ImagePullFailed',
    'failed to resolve reference "r/a:1": pull access denied, repository does not exist or may require authorization',
    /does not exist under this name, or is private/,
  ],
  ['ImagePullFailed', 'unexpected status from HEAD request: 401 Unauthorized', /other credentials/],
  ['ImagePullFailed', 'failed to resolve reference "r/a:1": r/a:1: not found', /does not have the image/],
  ['ImagePullFailed', 'toomanyrequests: You have reached your pull rate limit', /limit is reached/],
  ['ImagePullFailed', 'dial tcp: lookup registry.test: no such host', /does not respond/],
  ['ImagePullFailed', 'unexpected status: 503 Service Unavailable', /does not respond/],
  [
    'ImagePullFailed',
    'tls: failed to verify certificate: x509: certificate signed by unknown authority',
    /certificate/,
  ],
  ['ImagePullFailed', 'no match for platform in manifest: not found', /processors/],
  [
    'QuotaExceeded',
    'exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=3, limited: requests.cpu=3',
    /request less \(source_config\.resource_spec\.cpu\)/,
  ],
  [
    'QuotaExceeded',
    'exceeded quota: q, requested: limits.memory=1Gi, used: limits.memory=3Gi, limited: limits.memory=3Gi',
    /lower source_config\.resource_spec\.memory_limit_mb/,
  ],
  ['QuotaExceeded', 'exceeded quota: q, requested: requests.storage=10Gi, used: a', /lower db_storage_gi/],
  ['QuotaExceeded', 'exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3', /fewer pods/],
  [
    'AdmissionRefused',
    'pods "x" is forbidden: maximum cpu usage per Container is 2, but limit is 3',
    /LimitRange/,
  ],
  [
    'AdmissionRefused',
    'pods "x" is forbidden: error looking up service account shop/p: serviceaccount "p" not found',
    /Create the ServiceAccount/,
  ],
  [
    'AdmissionRefused',
    'pods "x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot',
    /Pod Security level/,
  ],
  ['AdmissionRefused', 'Internal error occurred: failed calling webhook "a": Post', /webhook/],
  [
    'ContainerConfigInvalid',
    'container has runAsNonRoot and image will run as root',
    /numeric USER.*security_profile/,
  ],
  [
    'CrashLoop',
    'pod x, container app: CrashLoopBackOff: exit code 1: bind() to 0.0.0.0:80 failed (13: Permission denied)',
    /security_profile to baseline/,
  ],
  ['ContainerConfigInvalid', 'secret "x" not found', /Create the Secret/],
  ['CrashLoop', 'CrashLoopBackOff: exit code 137 (OOMKilled)', /more memory.*memory_limit_mb/],
  ['CrashLoop', 'api: Pod x: container app (app): exit 127', /does not exist in the image/],
];

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

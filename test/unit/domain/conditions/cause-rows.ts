/** Messages of the cluster, for tests of remedies. */
export const CLAIM = 'source_config.resource_spec.volumes[1].persistentVolumeClaim.claimName';

/** One message of the cluster for each cause, with what its remedy says. */
export const ROWS: readonly [reason: string, message: string, says: RegExp][] = [
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
    /toleration for the taint of the nodes to source_config\.placement\.api\.tolerations/,
  ],
  [
    'Unschedulable',
    '0/1 nodes are available: 1 Insufficient nvidia.com/gpu.',
    /those that the message names/,
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
    /Pod Security level.*source_config\.security_profile/,
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
  ['ReadinessFailed', 'Readiness probe failed: HTTP probe failed with statuscode: 500', /needs 2xx or 3xx/],
  [
    'ReadinessFailed',
    'Readiness probe failed: dial tcp 10.0.0.1:8000: connect: connection refused',
    /listens on that port/,
  ],
  [
    'ReadinessFailed',
    'Readiness probe failed: Get "http://10.0.0.1/": context deadline exceeded',
    /Raise timeout_seconds/,
  ],
  ['ReadinessFailed', 'Liveness probe failed: queue is stuck', /the answer in the message/],
  [
    'Unschedulable',
    '0/1 nodes are available: persistentvolumeclaim "data" not found.',
    /Create the PersistentVolumeClaim/,
  ],
  ['Unschedulable', '0/2 nodes are available: 2 node(s) exceed max volume count.', /Use fewer volumes/],
  ['Unschedulable', '0/2 nodes are available: 2 Insufficient ephemeral-storage.', /less ephemeral-storage/],
  [
    'Unschedulable',
    'pods ended by nodes: Pod ephemeral local storage usage exceeds the total limit of containers 1Gi.',
    /larger sizeLimit/,
  ],
  [
    'Unschedulable',
    'pods ended by nodes: The node was low on resource: memory.',
    /as much memory as the app uses/,
  ],
  [
    'Unschedulable',
    "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports.",
    /Remove the hostPort/,
  ],
  [
    'QuotaExceeded',
    'exceeded quota: q, requested: limits.cpu=2, used: limits.cpu=3, limited: limits.cpu=4',
    /lower source_config\.resource_spec\.cpu_limit/,
  ],
  [
    'QuotaExceeded',
    'exceeded quota: q, requested: requests.memory=2Gi, used: requests.memory=3Gi, limited: requests.memory=4Gi',
    /request less \(source_config\.resource_spec\.memory_mb\)/,
  ],
  [
    'QuotaExceeded',
    'exceeded quota: q, requested: requests.ephemeral-storage=2Gi, used: a',
    /no ephemeral-storage left/,
  ],
  ['QuotaExceeded', 'exceeded quota: q, requested: count/services=1, used: a', /no more objects/],
  [
    'MountFailed',
    'AttachVolume.Attach failed for volume "pvc-1": rpc error: code = Internal',
    /does not attach the volume/,
  ],
];

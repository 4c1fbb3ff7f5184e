import { describe, expect, test } from 'vitest';
import { contractField } from '../../../../../src/cluster/operator/observe/contract-field.ts';
import { managedDeploymentSpecSchema } from '../../../../../src/contract/resource/managed-deployment.ts';

const spec = managedDeploymentSpecSchema.parse({
  revision: { image: 'web:1' },
  podTemplate: {
    serviceAccountName: 'payments',
    imagePullSecrets: [{ name: 'registry' }, { name: 'mirror' }],
    volumes: [
      { name: 'tmp', emptyDir: {} },
      { name: 'data', persistentVolumeClaim: { claimName: 'shop-data' } },
      { name: 'keys', secret: { secretName: 'shop-keys' } },
      {
        name: 'all',
        projected: { sources: [{ configMap: { name: 'flags' } }, { secret: { name: 'more' } }] },
      },
    ],
    initContainers: [
      {
        name: 'migrate',
        image: 'm',
        env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'db', key: 'k' } } }],
      },
    ],
    sidecars: [
      { name: 'log', image: 'l', envFrom: [{ configMapRef: { name: 'flags' } }] },
      {
        name: 'proxy',
        image: 'p',
        env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'db', key: 'k' } } }],
      },
    ],
  },
});
const resource = { spec, metadata: { namespace: 'shop' } };
const fieldOf = (text: string, container?: string) => contractField(resource, { text, container });

describe('the contract field of a message', () => {
  test.each<[string, string, string | undefined, string | undefined]>([
    [
      'a ServiceAccount',
      'pods "web-api-5d-" is forbidden: error looking up service account shop/payments: serviceaccount "payments" not found',
      undefined,
      'service_account_name',
    ],
    [
      'a claim',
      '0/1 nodes are available: persistentvolumeclaim "shop-data" not found. preemption: not helpful',
      undefined,
      'volumes[1].persistentVolumeClaim.claimName',
    ],
    [
      'a Secret of a volume',
      'MountVolume.SetUp failed for volume "keys" : secret "shop-keys" not found',
      undefined,
      'volumes[2].secret.secretName',
    ],
    [
      'a volume whose Secret lacks a key',
      'MountVolume.SetUp failed for volume "keys" : references non-existent secret key: x',
      undefined,
      'volumes[2]',
    ],
    [
      'a volume that is not mounted in time',
      'Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[]: timed out',
      undefined,
      'volumes[1]',
    ],
    [
      'a source of a projected volume',
      'MountVolume.SetUp failed for volume "all" : secret "more" not found',
      undefined,
      'volumes[3].projected.sources[1].secret.name',
    ],
    [
      'a Secret of one of two containers',
      'secret "db" not found',
      'proxy',
      'sidecars[1].env[0].valueFrom.secretKeyRef.name',
    ],
    [
      'a variable whose Secret lacks a key',
      "couldn't find key k in Secret shop/db",
      'migrate',
      'init_containers[0].env[0].valueFrom.secretKeyRef.name',
    ],
    ['a ConfigMap', 'configmap "flags" not found', 'log', 'sidecars[0].envFrom[0].configMapRef.name'],
    [
      'a pull secret',
      'Unable to retrieve some image pull secrets; secret "mirror" not found',
      undefined,
      'image_pull_secrets[1].name',
    ],
    [
      'a container',
      'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "log" must set …)',
      undefined,
      'sidecars[0]',
    ],
    [
      'nothing for a longer name with the same start',
      'secret "shop-keys-2" not found; Secret shop/db-2',
      undefined,
      undefined,
    ],
    ['nothing for a Secret of the platform', 'secret "web-db" not found', 'app', undefined],
    ['nothing for an unrelated message', 'Insufficient cpu', undefined, undefined],
  ])('names %s', (_, text, container, field) => {
    expect(fieldOf(text, container)).toBe(field && `source_config.resource_spec.${field}`);
  });

  test('is derived from a path in the rendered pod, even if the pod has other members', () => {
    const rendered = {
      containers: [{ name: 'app' }, { name: 'log' }, { name: 'proxy' }],
      initContainers: [{ name: 'migrate' }],
      volumes: [{ name: 'berths-own' }, { name: 'data' }],
    };
    const at = (path: string) =>
      contractField(resource, {
        text: `Deployment web-api: spec.template.spec.${path}: Invalid value`,
        rendered,
      });
    expect(at('containers[2].resources')).toBe('source_config.resource_spec.sidecars[1]');
    expect(at('initContainers[0].image')).toBe('source_config.resource_spec.init_containers[0]');
    expect(at('volumes[1].nfs')).toBe('source_config.resource_spec.volumes[1]');
    expect(at('volumes[0]')).toBeUndefined();
    expect(at('containers[0].image')).toBeUndefined();
    expect(at('imagePullSecrets[1].name')).toBe('source_config.resource_spec.image_pull_secrets[1]');
    expect(at('serviceAccountName')).toBe('source_config.resource_spec.service_account_name');
  });

  test('is undefined if the deployment has no such reference', () => {
    const plain = { spec: managedDeploymentSpecSchema.parse({ revision: { image: 'web:1' } }), metadata: {} };
    expect(contractField(plain, { text: 'serviceaccount "web" not found' })).toBeUndefined();
    expect(contractField(plain, { text: 'spec.template.spec.serviceAccountName: no' })).toBeUndefined();
  });
});

describe('a message about an unnamed volume', () => {
  const claims = (...names: string[]) => ({
    spec: managedDeploymentSpecSchema.parse({
      revision: { image: 'web:1' },
      podTemplate: {
        volumes: [
          { name: 'tmp' },
          ...names.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
        ],
      },
    }),
    metadata: { namespace: 'shop' },
  });
  test.each([
    '0/1 nodes are available: 1 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode.',
    '0/1 nodes are available: 1 node(s) had volume node affinity conflict.',
    '0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.',
    'Multi-Attach error for volume "pvc-7f3a" Volume is already used by pod(s) web-api-1',
    'AttachVolume.Attach failed for volume "pvc-7f3a" : rpc error',
    'MountVolume.SetUp failed for volume "pvc-7f3a" : mount failed: exit status 32',
  ])('names all claims of the deployment: %s', (text) => {
    const field = (index: number) =>
      `source_config.resource_spec.volumes[${index}].persistentVolumeClaim.claimName`;
    expect(contractField(claims('data'), { text })).toBe(field(1));
    expect(contractField(claims('data', 'more'), { text })).toBe(`${field(1)}, ${field(2)}`);
    expect(contractField(claims(), { text })).toBeUndefined();
  });
  test('names no claim if it is not about a volume', () =>
    expect(
      contractField(claims('data'), { text: '0/1 nodes are available: 1 Insufficient cpu.' }),
    ).toBeUndefined());
});

describe('the contract field of a placement', () => {
  const placed = managedDeploymentSpecSchema.parse({
    revision: { image: 'web:1' },
    components: {
      api: {},
      queue: {
        placement: { nodeSelector: { a: 'b' }, tolerations: [{ key: 'a' }], affinity: { podAffinity: {} } },
      },
    },
  });
  const AFFINITY = 'affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys';

  test.each<[string, 'api' | 'queue' | undefined, string | undefined]>([
    [
      `Deployment.apps "web-queue" is invalid: spec.template.spec.${AFFINITY}: Forbidden: no`,
      'queue',
      AFFINITY,
    ],
    [`Pod "web-queue-5d" is invalid: spec.${AFFINITY}[1]: Invalid value: "a"`, 'queue', `${AFFINITY}[1]`],
    ['spec.template.spec.tolerations[0].operator: Unsupported value', 'queue', 'tolerations[0].operator'],
    ['spec.template.spec.nodeSelector: Invalid value: "a b"', 'queue', 'node_selector'],
    ['spec.template.spec.nodeSelector: Invalid value: "a b"', 'api', undefined],
    ['spec.template.spec.nodeSelector: Invalid value: "a b"', undefined, undefined],
    ['spec.template.spec.affinityLater: Invalid value', 'queue', undefined],
  ])('of "%s" for the component %s is %s', (text, component, field) => {
    const expected = field === undefined ? undefined : `source_config.placement.${component}.${field}`;
    expect(contractField({ spec: placed, metadata: {} }, { text, component })).toBe(expected);
  });
});

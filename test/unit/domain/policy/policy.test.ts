import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Secret, SourceConfig } from '../../../../src/domain/deployment/deployment.ts';
import {
  DEPLOYMENT_TYPES,
  HOSTING_MODES,
  type HostingMode,
} from '../../../../src/domain/deployment/source.ts';
import { withDefaultCeilings } from '../../../../src/domain/policy/default-ceilings.ts';
import {
  type Caps,
  DEFAULT_POLICIES,
  matchesAny,
  type PolicyFile,
  policyFileSchema,
  policySchema,
  resolvePolicy,
} from '../../../../src/domain/policy/policy.ts';
import { policyViolations, variablePolicyViolations } from '../../../../src/domain/policy/policy-rules.ts';
import { CONTAINER_DEFAULTS } from '../../../../src/domain/resource-spec/container-defaults.ts';
import { effectiveSpec } from '../../../../src/domain/resource-spec/effective-spec.ts';
import { effectiveResourceSpecSchema } from '../../../../src/domain/resource-spec/effective-spec-schema.ts';
import type { ResourceSpec } from '../../../../src/domain/resource-spec/resource-spec.ts';
import { validResourceSpec } from '../../../arbitraries/resource-spec.ts';

interface Given {
  spec?: ResourceSpec;
  config?: Partial<SourceConfig>;
  secrets?: Secret[];
  file?: PolicyFile;
  /** The stored configuration; absent: the deployment is new. */
  stored?: Partial<SourceConfig>;
  keptVolumeGi?: number;
}

const OWN = 'shop-0a1b2c3d';

const PLAIN = { deployment_type: null, custom_url: null, resource_spec: null };
const plainInput = {
  sourceConfig: PLAIN as SourceConfig,
  appName: OWN,
  ownHost: 'berth.example.com',
  serverUrl: null,
};

function issues(
  hosting: HostingMode,
  { spec = {}, config = {}, secrets = [], file = {}, stored, keptVolumeGi }: Given,
) {
  const sourceConfig = { ...PLAIN, ...config, resource_spec: spec } as SourceConfig;
  const input = {
    ...plainInput,
    sourceConfig,
    ...(stored === undefined ? {} : { stored: { ...PLAIN, ...stored } as SourceConfig }),
    ...(keptVolumeGi === undefined ? {} : { keptVolumeGi }),
    secrets,
  };
  return policyViolations(input, resolvePolicy(hosting, file));
}

/** The rejected paths; those in resource_spec are relative to it. */
const refused = (hosting: HostingMode, given: Given) =>
  issues(hosting, given).map(({ loc }) => loc.join('.').replace('source_config.resource_spec.', ''));

const container = { name: 'a', image: 'b' };
const sidecar = (more: object): Given => ({ spec: { sidecars: [{ ...container, ...more }] } });
const volume = (more: object): Given => ({ spec: { volumes: [{ name: 'v', ...more }] } });
const token = (more: object) =>
  volume({ projected: { sources: [{ serviceAccountToken: { path: 't', ...more } }] } });
const TOKEN = 'volumes.0.projected.sources.0.serviceAccountToken';

interface Row {
  readonly what: string;
  readonly given: Given;
  readonly path: string;
  readonly self_hosted: 'refused' | 'allowed';
  readonly cloud: 'refused' | 'allowed';
}

const row = (
  what: string,
  given: Given,
  path: string,
  [self_hosted, cloud]: ['refused' | 'allowed', 'refused' | 'allowed'],
): Row => ({ what, given, path, self_hosted, cloud });

/** The table of the security design, as bodies. */
const ROWS: readonly Row[] = [
  row(
    'privileged',
    sidecar({ securityContext: { privileged: true } }),
    'sidecars.0.securityContext.privileged',
    ['refused', 'refused'],
  ),
  row(
    'seccomp off',
    sidecar({ securityContext: { seccompProfile: { type: 'Unconfined' } } }),
    'sidecars.0.securityContext.seccompProfile.type',
    ['refused', 'refused'],
  ),
  row(
    'a capability of baseline',
    sidecar({ securityContext: { capabilities: { add: ['CHOWN'] } } }),
    'sidecars.0.securityContext.capabilities.add.0',
    ['allowed', 'refused'],
  ),
  row(
    'root',
    { spec: { init_containers: [{ ...container, securityContext: { runAsUser: 0 } }] } },
    'init_containers.0.securityContext.runAsUser',
    ['allowed', 'refused'],
  ),
  row('nfs', volume({ nfs: { server: 'a', path: '/' } }), 'volumes.0.nfs', ['allowed', 'refused']),
  row('csi', volume({ csi: { driver: 'a.b' } }), 'volumes.0.csi', ['allowed', 'refused']),
  row('a ServiceAccount', { spec: { service_account_name: 'payments' } }, 'service_account_name', [
    'allowed',
    'refused',
  ]),
  row(
    "Berth's ServiceAccount",
    { spec: { service_account_name: 'berth-operator' } },
    'service_account_name',
    ['refused', 'refused'],
  ),
  row('a token for the API server', token({}), TOKEN, ['refused', 'refused']),
  row('a token for another audience', token({ audience: 'vault' }), `${TOKEN}.audience`, [
    'refused',
    'refused',
  ]),
  row(
    'a label of a mesh',
    { spec: { labels: { 'sidecar.istio.io/inject': 'true' } } },
    'labels.sidecar.istio.io/inject',
    ['allowed', 'refused'],
  ),
  row(
    'an annotation of an ingress',
    { spec: { annotations: { 'nginx.ingress.kubernetes.io/auth-url': 'x' } } },
    'annotations.nginx.ingress.kubernetes.io/auth-url',
    ['allowed', 'refused'],
  ),
  row(
    'an annotation of a cloud',
    { spec: { annotations: { 'eks.amazonaws.com/role-arn': 'x' } } },
    'annotations.eks.amazonaws.com/role-arn',
    ['allowed', 'refused'],
  ),
  row('a key without a domain', { spec: { labels: { aadpodidbinding: 'x' } } }, 'labels.aadpodidbinding', [
    'allowed',
    'refused',
  ]),
  ...['io.katacontainers.config.hypervisor.path', 'io.kubernetes.cri-o.userns-mode', 'app.version'].map(
    (key) =>
      row(`a key with a dot, ${key}`, { spec: { annotations: { [key]: 'x' } } }, `annotations.${key}`, [
        'allowed',
        'refused',
      ]),
  ),
  row("the user's own annotation", { spec: { annotations: { owner: 'x', team: 'y' } } }, '', [
    'allowed',
    'allowed',
  ]),
  // No list of dangerous domains is complete: cloud mode rejects every domain that the policy does not list.
  ...[
    'example.com/owner',
    'k8s.v1.cni.cncf.io/networks',
    'k8s.ovn.org/pod-networks',
    'vault.security.banzaicloud.io/vault-path',
    'sidecar.jaegertracing.io/inject',
    'telepresence.io/inject-traffic-agent',
    'injector.tailscale.com/inject',
    'spiffe.io/spiffe-id',
    'prometheus.io/scrape',
  ].flatMap((key) =>
    (['labels', 'annotations'] as const).map((map) =>
      row(`${key} in ${map}`, { spec: { [map]: { [key]: 'x' } } }, `${map}.${key}`, ['allowed', 'refused']),
    ),
  ),
  row(
    'an extended resource',
    sidecar({ resources: { limits: { 'nvidia.com/gpu': '1000' } } }),
    'sidecars.0.resources.limits.nvidia.com/gpu',
    ['allowed', 'refused'],
  ),
  row(
    'huge pages of a container',
    sidecar({ resources: { limits: { memory: '1Gi', 'hugepages-2Mi': '100Gi' } } }),
    'sidecars.0.resources.limits.hugepages-2Mi',
    ['allowed', 'refused'],
  ),
  row(
    'huge pages of a volume',
    volume({ emptyDir: { medium: 'HugePages-2Mi' } }),
    'volumes.0.emptyDir.medium',
    ['allowed', 'refused'],
  ),
  row(
    '60 TiB of a node’s disk',
    sidecar({ resources: { limits: { 'ephemeral-storage': '60Ti' } } }),
    'sidecars.0.resources.limits.ephemeral-storage',
    ['allowed', 'refused'],
  ),
  row('60 TiB in a directory', volume({ emptyDir: { sizeLimit: '60Ti' } }), 'volumes.0.emptyDir.sizeLimit', [
    'allowed',
    'refused',
  ]),
  row(
    '4000 GiB in memory',
    volume({ emptyDir: { medium: 'Memory', sizeLimit: '4000Gi' } }),
    'volumes.0.emptyDir.sizeLimit',
    ['allowed', 'refused'],
  ),
  row('10 GiB on disk', volume({ emptyDir: { sizeLimit: '10Gi' } }), '', ['allowed', 'allowed']),
  row(
    'a request above the limit that the cluster fills in',
    sidecar({ resources: { requests: { memory: '2Gi' } } }),
    'sidecars.0.resources.requests.memory',
    ['allowed', 'refused'],
  ),
  row(
    'the same beside a limit, and a small one without',
    sidecar({ resources: { requests: { memory: '2Gi', cpu: '1' }, limits: { memory: '2Gi' } } }),
    '',
    ['allowed', 'allowed'],
  ),
  row('the own host', { config: { custom_url: 'https://berth.example.com/a' } }, 'source_config.custom_url', [
    'refused',
    'refused',
  ]),
  row('51 pods', { spec: { max_scale: 51, db_max_connections: 1000 } }, 'max_scale', ['allowed', 'refused']),
  row('33 cores', { spec: { cpu_limit: 33 } }, 'cpu_limit', ['allowed', 'refused']),
  row(
    '33 cores of a sidecar',
    sidecar({ resources: { limits: { cpu: '32001m' } } }),
    'sidecars.0.resources.limits.cpu',
    ['allowed', 'refused'],
  ),
  row(
    '1 TiB of memory',
    sidecar({ resources: { requests: { memory: '1Ti' } } }),
    'sidecars.0.resources.requests.memory',
    ['allowed', 'refused'],
  ),
  row('2 TiB of storage', { spec: { db_storage_gi: 2048 } }, 'db_storage_gi', ['allowed', 'refused']),
  row(
    'dev_free above its cap',
    { spec: { max_scale: 2 }, config: { deployment_type: 'dev_free' } },
    'max_scale',
    ['allowed', 'refused'],
  ),
  row(
    '300 secrets',
    { secrets: [...Array(300).keys()].map((n) => ({ name: `A${n}`, value: '' })) },
    'secrets',
    ['allowed', 'refused'],
  ),
  row(
    '300 variables',
    sidecar({ env: [...Array(300).keys()].map((n) => ({ name: `A${n}` })) }),
    'sidecars.0.env',
    ['allowed', 'refused'],
  ),
  row(
    'much environment',
    sidecar({ env: [...Array(3).keys()].map((n) => ({ name: `A${n}`, value: 'x'.repeat(100_000) })) }),
    'sidecars.0.env',
    ['allowed', 'refused'],
  ),
  row(
    '12 sidecars',
    { spec: { sidecars: [...Array(12).keys()].map((n) => ({ ...container, name: `a${n}` })) } },
    'sidecars',
    ['allowed', 'refused'],
  ),
  row('40 volumes', { spec: { volumes: [...Array(40).keys()].map((n) => ({ name: `v${n}` })) } }, 'volumes', [
    'allowed',
    'refused',
  ]),
  ...(
    [
      ['a volume', volume({ secret: { secretName: 'app-00000000-db' } }), 'volumes.0.secret.secretName'],
      [
        'a projection',
        volume({ projected: { sources: [{ secret: { name: 'app-00000000-env-1' } }] } }),
        'volumes.0.projected.sources.0.secret.name',
      ],
      [
        'a variable',
        sidecar({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'app-00000000-db', key: 'k' } } }] }),
        'sidecars.0.env.0.valueFrom.secretKeyRef.name',
      ],
      [
        'variables',
        sidecar({ envFrom: [{ secretRef: { name: 'app-00000000-env-22' } }] }),
        'sidecars.0.envFrom.0.secretRef.name',
      ],
      [
        'a pull secret',
        { spec: { image_pull_secrets: [{ name: 'app-00000000-tls' }] } },
        'image_pull_secrets.0.name',
      ],
      [
        'the credentials of its images',
        { spec: { image_pull_secrets: [{ name: 'app-00000000-pull' }] } },
        'image_pull_secrets.0.name',
      ],
      [
        'the copy of its credentials',
        volume({ secret: { secretName: 'app-00000000-db-copy' } }),
        'volumes.0.secret.secretName',
      ],
      [
        'a claim',
        volume({ persistentVolumeClaim: { claimName: 'app-00000000-db' } }),
        'volumes.0.persistentVolumeClaim.claimName',
      ],
      [
        'its own claim',
        volume({ persistentVolumeClaim: { claimName: `${OWN}-db` } }),
        'volumes.0.persistentVolumeClaim.claimName',
      ],
    ] as [string, Given, string][]
  ).map(([what, given, path]) =>
    row(`another deployment's object as ${what}`, given, path, ['refused', 'refused']),
  ),
  row('its own credentials', volume({ secret: { secretName: `${OWN}-db` } }), 'volumes.0.secret.secretName', [
    'refused',
    'refused',
  ]),
  row("the tenant's own objects", sidecar({ envFrom: [{ secretRef: { name: 'app-db' } }] }), '', [
    'allowed',
    'allowed',
  ]),
];

describe.each(ROWS)('$what', ({ given, path, ...expected }) => {
  test.each(HOSTING_MODES)('is rejected or accepted as the table states: %s', (hosting) => {
    expect(refused(hosting, given)).toEqual(expected[hosting] === 'refused' ? [path] : []);
  });
});

describe('the policy', () => {
  test.each<[string, Given, PolicyFile]>([
    ['privileged', sidecar({ securityContext: { privileged: true } }), { pod_security: 'privileged' }],
    [
      'nfs',
      volume({ nfs: { server: 'a', path: '/' } }),
      { volumes: { nfs: true }, pod_security: 'baseline' },
    ],
    [
      'a ServiceAccount',
      { spec: { service_account_name: 'app-payments' } },
      { service_accounts: { allowed: ['app-*'] } },
    ],
    ['an audience', token({ audience: 'vault' }), { service_account_token_audiences: ['vault'] }],
    [
      'a device',
      sidecar({ resources: { limits: { 'nvidia.com/gpu': '1' } } }),
      { resources: { allowed_extended: ['nvidia.com/*'] } },
    ],
    [
      'huge pages',
      volume({ emptyDir: { medium: 'HugePages-2Mi' } }),
      { resources: { allowed_extended: ['hugepages-2Mi'] } },
    ],
    [
      'a request without a limit',
      sidecar({ resources: { requests: { cpu: '2' } } }),
      { resources: { default_limits: false } },
    ],
    [
      'a domain of its own',
      { spec: { labels: { 'shop.example/team': 'x' } } },
      { metadata: { allowed_keys: ['shop.example/*'] } },
    ],
    [
      'a key with a dot',
      { spec: { labels: { 'app.version': '1' } } },
      { metadata: { allowed_keys: ['app.*'] } },
    ],
    [
      'any key, by other domains',
      { spec: { labels: { 'app.version': '1', 'shop.example/team': 'x' } } },
      { metadata: { refused_domains: ['istio.io'] } },
    ],
    [
      'a key',
      { spec: { annotations: { 'sidecar.istio.io/inject': 'false' } } },
      { metadata: { allowed_keys: ['sidecar.istio.io/*'] } },
    ],
    ['a cap', { spec: { max_scale: 60 } }, { caps: { scale: 60 } }],
  ])('allows %s when its file does', (_what, given, file) => {
    expect(refused('cloud', given)).not.toEqual([]);
    expect(policyFileSchema.safeParse(file).error).toBeUndefined();
    expect(refused('cloud', { ...given, file })).toEqual([]);
  });

  test('keeps the other caps of a type and those of other types when its file changes one cap', () => {
    const { caps_by_type: before } = DEFAULT_POLICIES.cloud;
    const file = { caps_by_type: { dev_free: { scale: 2 }, prod: { cpu: 4 } } };
    expect(policyFileSchema.safeParse(file).error).toBeUndefined();
    expect(resolvePolicy('cloud', file).caps_by_type).toEqual({
      dev_free: { ...before.dev_free, scale: 2 },
      dev: before.dev,
      prod: { cpu: 4 },
    });
    const free = { spec: { max_scale: 2, cpu: 3 }, config: { deployment_type: 'dev_free' as const }, file };
    expect(refused('cloud', free)).toEqual(['cpu']);
  });

  test('rejects hosts, except a stored one', () => {
    const given = { config: { custom_url: 'https://a.example.com' } };
    // A stored host is accepted again.
    expect(refused('cloud', given)).toEqual(['source_config.custom_url']);
    expect(refused('cloud', { ...given, stored: given.config })).toEqual([]);
    expect(refused('cloud', { ...given, stored: { custom_url: 'https://b.example.com' } })).toEqual([
      'source_config.custom_url',
    ]);
    expect(
      refused('self_hosted', { ...given, file: { custom_url: { allowed_hosts: ['*.corp.example'] } } }),
    ).toHaveLength(1);
    expect(
      refused('self_hosted', { ...given, file: { custom_url: { refused_hosts: ['a.*'] } } }),
    ).toHaveLength(1);
  });

  test('matches hosts and keys in any case, in the policy and in the request', () => {
    const given = { config: { custom_url: 'https://a.Example.com' } };
    const hosts = { custom_url: { refused_hosts: ['A.example.*'] } };
    expect(refused('self_hosted', { ...given, file: hosts })).toEqual(['source_config.custom_url']);
    const key = 'traffic.sidecar.istio.io/excludeOutboundPorts';
    const spec = { annotations: { [key]: '1', aadPodIdBinding: 'x' } };
    const allowed = { metadata: { allowed_keys: [key, 'aadPodIdBinding'] } };
    expect(refused('cloud', { spec, file: allowed })).toEqual([]);
    expect(
      refused('self_hosted', { spec, file: { metadata: { refused_keys: ['aadpodidBinding'] } } }),
    ).toEqual(['annotations.aadPodIdBinding']);
    const domains = { metadata: { refused_domains: ['Istio.IO'] } };
    expect(refused('self_hosted', { spec, file: domains })).toEqual([`annotations.${key}`]);
  });

  test.each<[string, ResourceSpec, string[]]>([
    ['cpu within the cap, and twice as much above it', { cpu: 20 }, []],
    ['cpu above the cap', { cpu: 33 }, ['cpu']],
    ['cpu above the cap that a queue inherits', { cpu: 33, queue_min_scale: 1 }, ['cpu']],
    ['memory within the cap', { db_memory_mb: 100_000 }, []],
    ['memory above the cap', { db_memory_mb: 131_073 }, ['db_memory_mb']],
    ['a minimum scale above the cap', { queue_min_scale: 51 }, ['queue_min_scale']],
  ])('applies the caps to the sent spec: %s', (_what, spec, fields) =>
    expect(refused('cloud', { spec })).toEqual(fields),
  );

  test('rejects a minimum scale above the cap of its type', () => {
    const given = { spec: { queue_min_scale: 2 }, config: { deployment_type: 'dev_free' as const } };
    expect(refused('cloud', given)).toEqual(['queue_min_scale']);
  });

  test('lowers the default connections to the cap, and rejects a scale whose pods need more', () => {
    const file = { caps: { db_connections: 60 } };
    expect(refused('cloud', { spec: { max_scale: 30 }, file })).toEqual([]);
    expect(refused('cloud', { spec: { max_scale: 50 }, file })).toEqual(['max_scale']);
  });

  test('keeps a stored deployment within the caps, whatever they become', () => {
    const config = { resource_spec: { cpu: 20, max_scale: 30 }, deployment_type: null } as SourceConfig;
    const file = { caps: { db_connections: 60 } };
    const stored = withDefaultCeilings(config, resolvePolicy('cloud', file));
    expect(effectiveSpec(stored.resource_spec ?? {}, null, stored.default_ceilings)).toMatchObject({
      cpu: 20,
      cpu_limit: 32,
      db_max_connections: 60,
      db_pool_size: 1,
    });
    // One amount alone is enough to bend something.
    const low = withDefaultCeilings(config, resolvePolicy('self_hosted', file));
    expect(low.default_ceilings).toMatchObject({ db_connections: 60 });
    // A wider policy, asked again, bends nothing and leaves nothing behind.
    expect(withDefaultCeilings(stored, resolvePolicy('self_hosted'))).toEqual(config);
  });

  test('keeps whole cores for a fractional cap where the contract requires them, and does not change stored limits', () => {
    const whole = { orchestrator_cpu: 1, executor_cpu: 2, db_cpu: 1 };
    const spec = { cpu: 1, cache_cpu: 1, ...whole, executor_cpu: 1 };
    const config = { resource_spec: spec, deployment_type: null } as SourceConfig;
    const limits = (ceilings: SourceConfig['default_ceilings'], sent: ResourceSpec = spec) =>
      effectiveSpec(sent, null, ceilings);
    const file = { caps: { cpu: 1.5 } };
    expect(refused('cloud', { spec, file })).toEqual([]);
    const { default_ceilings: ceilings } = withDefaultCeilings(config, resolvePolicy('cloud', file));
    const bent = limits(ceilings);
    expect(effectiveResourceSpecSchema.safeParse(bent).error).toBeUndefined();
    expect(bent).toMatchObject({ cpu_limit: 1.5, cache_cpu_limit: 1.5, orchestrator_cpu_limit: 1 });
    expect(bent).toMatchObject({ executor_cpu_limit: 1, db_cpu_limit: 1 });
    // Never below the request, nor below one core.
    expect(limits(ceilings, whole)).toMatchObject({ executor_cpu: 2, executor_cpu_limit: 2 });
    const low = withDefaultCeilings(config, resolvePolicy('cloud', { caps: { cpu: 0.5 } })).default_ceilings;
    expect(limits(low)).toMatchObject({ db_cpu: 1, db_cpu_limit: 1 });
    // Stored before: another limit would start its database again.
    const { whole_cpu: _, ...former } = ceilings ?? { cpu: 0, memory_mb: 0, db_connections: 0 };
    expect(limits(former)).toMatchObject({ db_cpu_limit: 1.5, executor_cpu_limit: 1.5 });
    // Whole cores need no second ceiling.
    const plain = withDefaultCeilings(config, resolvePolicy('cloud', { caps: { cpu: 1 } }));
    expect(plain.default_ceilings).toMatchObject({ cpu: 1 });
    expect(plain.default_ceilings).not.toHaveProperty('whole_cpu');
  });

  test('accepts an existing volume above the cap, because a volume cannot shrink', () => {
    const file = { caps: { storage_gi: 50 } };
    const spec = (gi: number) => ({ db_storage_gi: gi });
    const has = (gi: number) => ({ stored: { resource_spec: spec(gi) }, file });
    expect(refused('cloud', { spec: spec(80), file })).toEqual(['db_storage_gi']);
    expect(refused('cloud', { spec: spec(80), ...has(80) })).toEqual([]);
    expect(refused('cloud', { spec: spec(80), ...has(80), keptVolumeGi: 0 })).toEqual(['db_storage_gi']);
    // Asked for while the database was the tenant's own, it is no volume's.
    expect(refused('cloud', { spec: spec(80), ...has(80), keptVolumeGi: 60 })).toEqual(['db_storage_gi']);
    expect(refused('cloud', { spec: spec(60), ...has(80), keptVolumeGi: 60 })).toEqual([]);
    expect(refused('cloud', { spec: spec(81), ...has(80) })).toEqual(['db_storage_gi']);
    expect(refused('cloud', { spec: spec(50), ...has(20) })).toEqual([]);
    // The default's own size, too.
    const prod = { deployment_type: 'prod' as const };
    const small = { config: prod, file: { caps: { storage_gi: 10 } } };
    expect(refused('cloud', small)).toEqual(['db_storage_gi']);
    expect(refused('cloud', { ...small, stored: prod })).toEqual([]);
  });

  test('reports a default above a cap as a default', () => {
    const [issue] = issues('self_hosted', { file: { caps: { memory_mb: 1024 } } });
    expect(issue).toMatchObject({ type: 'policy_cap', msg: expect.stringContaining('by default') });
  });

  test.each([
    { pod_security: 'loose' },
    { volume: {} },
    { caps: { scale: -1 } },
    { caps: { pods: 1 } },
    { metadata: [] },
  ])('rejects the file %j', (file) => {
    expect(policyFileSchema.safeParse(file).success).toBe(false);
  });
});

/** For each cap: a lower value of it, a body just within and one just above that, and where it is refused. */
const CAPS: Readonly<Record<keyof Caps, readonly [low: number, within: Given, above: Given, path: string]>> =
  {
    scale: [3, { spec: { max_scale: 3 } }, { spec: { max_scale: 4 } }, 'max_scale'],
    cpu: [3, { spec: { cpu: 3 } }, { spec: { cpu: 3.001 } }, 'cpu'],
    memory_mb: [3000, { spec: { memory_mb: 3000 } }, { spec: { memory_mb: 3001 } }, 'memory_mb'],
    storage_gi: [20, { spec: { db_storage_gi: 20 } }, { spec: { db_storage_gi: 21 } }, 'db_storage_gi'],
    ephemeral_storage_gi: [
      5,
      sidecar({ resources: { limits: { 'ephemeral-storage': '5Gi' } } }),
      sidecar({ resources: { limits: { 'ephemeral-storage': '5121Mi' } } }),
      'sidecars.0.resources.limits.ephemeral-storage',
    ],
    db_connections: [
      150,
      { spec: { db_max_connections: 150 } },
      { spec: { db_max_connections: 151 } },
      'db_max_connections',
    ],
    containers: [
      1,
      sidecar({}),
      { spec: { init_containers: [{ ...container, name: 'b' }], sidecars: [container] } },
      'sidecars',
    ],
    volumes: [1, volume({}), { spec: { volumes: [{ name: 'v' }, { name: 'w' }] } }, 'volumes'],
    secrets: [
      1,
      { secrets: [{ name: 'A', value: '' }] },
      { secrets: ['A', 'B'].map((name) => ({ name, value: '' })) },
      'secrets',
    ],
    env_count: [
      1,
      sidecar({ env: [{ name: 'A' }] }),
      sidecar({ env: [{ name: 'A' }, { name: 'B' }] }),
      'sidecars.0.env',
    ],
    env_bytes: [
      3,
      { secrets: [{ name: 'A', value: 'é' }] },
      { secrets: [{ name: 'A', value: 'éx' }] },
      'secrets',
    ],
  };

test.each(Object.entries(CAPS))(
  'a policy file lowers the cap %s to its exact value',
  (cap, [low, within, above, path]) => {
    const file = { caps: { [cap]: low } };
    expect(policyFileSchema.safeParse(file).error).toBeUndefined();
    expect(refused('self_hosted', { ...within, file })).toEqual([]);
    expect(refused('self_hosted', { ...above, file })).toEqual([path]);
    expect(refused('self_hosted', above)).toEqual([]);
  },
);

describe('a list of secrets that exceeds a lowered cap', () => {
  const secrets = (...values: string[]) => values.map((value, n) => ({ name: `S${n}`, value }));
  const stored = secrets('four', 'four', 'four');

  test.each<[string, Secret[]]>([
    ['is the stored one', stored],
    ['has other values of the same size', secrets('FOUR', 'FOUR', 'FOUR')],
    ['has fewer secrets and bytes', secrets('four', 'four')],
  ])('is accepted when it %s', (_what, next) => {
    const input = { ...plainInput, secrets: next, storedSecrets: stored };
    const policy = resolvePolicy('self_hosted', { caps: { secrets: 1, env_bytes: 6 } });
    expect(policyViolations(input, policy)).toEqual([]);
    expect(variablePolicyViolations(input, policy)).toEqual([]);
  });

  test.each<[string, Secret[], PolicyFile['caps'], string]>([
    ['more secrets', secrets('', '', '', ''), { secrets: 1 }, 'entries'],
    ['more bytes', secrets('fourteen bytes', '12'), { env_bytes: 6 }, 'bytes together'],
  ])('is rejected when it has %s', (_what, next, caps, msg) => {
    const input = { ...plainInput, secrets: next, storedSecrets: stored };
    const policy = resolvePolicy('self_hosted', { caps });
    const issue = { loc: ['secrets'], msg: expect.stringContaining(msg), type: 'policy_environment' };
    expect(policyViolations(input, policy)).toEqual([issue]);
    expect(variablePolicyViolations(input, policy)).toEqual([issue]);
  });

  test('is compared separately with env, whose issue names env', () => {
    const env = (count: number) => Array.from({ length: count }, (_, n) => ({ name: `V${n}`, value: '' }));
    const policy = resolvePolicy('self_hosted', { caps: { env_count: 2 } });
    const input = (next: Secret[]) => ({ ...plainInput, secrets: stored, env: next, storedEnv: env(4) });
    expect(policyViolations(input(env(4)), policy)).toEqual([]);
    const loc = ['source_revision_config', 'env'];
    expect(policyViolations(input(env(5)), policy)).toMatchObject([{ loc, type: 'policy_environment' }]);
    expect(variablePolicyViolations(input(env(5)), policy)).toMatchObject([{ loc }]);
  });

  test('is one issue when number and size are exceeded', () => {
    const policy = resolvePolicy('self_hosted', { caps: { secrets: 1, env_bytes: 6 } });
    expect(variablePolicyViolations({ ...plainInput, secrets: stored }, policy)).toHaveLength(1);
  });
});

test('the defaults are complete policies, and accept a plain deployment of every type', () => {
  for (const hosting of HOSTING_MODES) {
    expect(policySchema.safeParse(DEFAULT_POLICIES[hosting]).error).toBeUndefined();
    expect(resolvePolicy(hosting)).toEqual(DEFAULT_POLICIES[hosting]);
    for (const deployment_type of [...DEPLOYMENT_TYPES, null]) {
      expect(issues(hosting, { config: { deployment_type } })).toEqual([]);
    }
  }
});

test('the cloud policy accepts its samples, and has the storage limit of the app as its storage cap', () => {
  const folder = new URL('../../../samples/', import.meta.url);
  const samples = readdirSync(folder)
    .filter((file) => file.startsWith('internal-image'))
    .map((file) => JSON.parse(readFileSync(new URL(file, folder), 'utf8')));
  expect(samples).toHaveLength(2);
  for (const { source_config: config, secrets } of samples) {
    expect(refused('cloud', { spec: config.resource_spec, config, secrets })).toEqual([]);
  }
  const limit = CONTAINER_DEFAULTS.limits['ephemeral-storage'];
  expect(limit).toBe(`${DEFAULT_POLICIES.cloud.caps.ephemeral_storage_gi}Gi`);
});

test('the self_hosted policy accepts every valid spec within baseline', () => {
  fc.assert(
    fc.property(validResourceSpec(), (spec) => {
      const found = issues('self_hosted', { spec }).filter(({ type }) => type !== 'policy_generated_object');
      expect(found).toEqual([]);
    }),
  );
});

test('a pattern matches any text with *, and every other character literally', () => {
  expect(matchesAny('a.b', ['a.b'])).toBe(true);
  expect(matchesAny('axb', ['a.b'])).toBe(false);
  expect(matchesAny('abc', ['a*c', 'x'])).toBe(true);
  expect(matchesAny('abcd', ['a*c'])).toBe(false);
  expect(matchesAny('anything', ['*'])).toBe(true);
  expect(matchesAny('anything', [])).toBe(false);
  expect(matchesAny('aba', ['aba*ba', 'ab*aba'])).toBe(false);
  expect(matchesAny('a-x-b-y-c', ['a*b*c'])).toBe(true);
  // A backtracking regular expression would not end in any reasonable time.
  expect(matchesAny('a'.repeat(2000), ['*a*a*a*a*a*a*a*a*b'])).toBe(false);
});

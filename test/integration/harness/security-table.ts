/** The design's table of inputs as cases: what clients may write into pods, in both hosting modes. */
import { tenantNamespace } from '../../../src/contract/resource/names.ts';
import { DEFAULT_POLICIES } from '../../../src/domain/policy/policy.ts';
import { type Client, uniqueName } from './api.ts';

type Path = (string | number)[];
/** The field that is refused, below `body`, with the status. */
type Refused = readonly [status: 400 | 422, ...path: Path];
type Expected = 'allowed' | Refused;

export interface SecurityRow {
  /** The input, as the table calls it. */
  readonly row: string;
  readonly what: string;
  readonly body: (client: Client) => Record<string, unknown>;
  readonly self_hosted: Expected;
  readonly cloud: Expected;
}

const SPEC = ['source_config', 'resource_spec'] as const;
/** Every case, in the order of the table. */
export const rows: SecurityRow[] = [];

/** Adds a case; `cloud` unset: as self_hosted. Paths are below resource_spec unless `body` is a whole body. */
function add(row: string, what: string, spec: object, self_hosted: Expected, cloud = self_hosted): void {
  const inSpec = (expected: Expected): Expected =>
    expected === 'allowed' ? expected : [expected[0], ...SPEC, ...expected.slice(1)];
  rows.push({
    row,
    what,
    body: () => ({ source_config: { resource_spec: spec } }),
    self_hosted: inSpec(self_hosted),
    cloud: inSpec(cloud),
  });
}

function addBody(
  row: string,
  what: string,
  body: Record<string, unknown> | ((client: Client) => Record<string, unknown>),
  self_hosted: Expected,
  cloud = self_hosted,
): void {
  rows.push({ row, what, body: typeof body === 'function' ? body : () => body, self_hosted, cloud });
}

const container = { name: 'helper', image: 'registry.example.com/helper:1' };
const sidecar = (more: object) => ({ sidecars: [{ ...container, ...more }] });
const secure = (securityContext: object) => sidecar({ securityContext });
const volume = (source: object) => ({ volumes: [{ name: 'v', ...source }] });
const CONTEXT = ['sidecars', 0, 'securityContext'] as const;

// securityContext: baseline; restricted.
const byLevel = (what: string, context: object, ...path: Path) =>
  add('securityContext', what, secure(context), 'allowed', [400, ...CONTEXT, ...path]);
const never = (what: string, context: object, ...path: Path) =>
  add('securityContext', what, secure(context), [400, ...CONTEXT, ...path]);
never('privileged', { privileged: true }, 'privileged');
never('SYS_ADMIN', { capabilities: { add: ['SYS_ADMIN'] } }, 'capabilities', 'add', 0);
never('NET_RAW', { capabilities: { add: ['CHOWN', 'NET_RAW'] } }, 'capabilities', 'add', 1);
never('no seccomp', { seccompProfile: { type: 'Unconfined' } }, 'seccompProfile', 'type');
never('no AppArmor', { appArmorProfile: { type: 'Unconfined' } }, 'appArmorProfile', 'type');
never('another SELinux type', { seLinuxOptions: { type: 'spc_t' } }, 'seLinuxOptions', 'type');
never('an SELinux user', { seLinuxOptions: { user: 'root' } }, 'seLinuxOptions', 'user');
never('an SELinux role', { seLinuxOptions: { role: 'sysadm_r' } }, 'seLinuxOptions', 'role');
byLevel('root', { runAsUser: 0 }, 'runAsUser');
byLevel('root by another name', { runAsNonRoot: false }, 'runAsNonRoot');
byLevel('escalation', { allowPrivilegeEscalation: true }, 'allowPrivilegeEscalation');
byLevel('CHOWN', { capabilities: { drop: ['ALL'], add: ['CHOWN'] } }, 'capabilities', 'add', 0);
byLevel('capabilities kept', { capabilities: { drop: ['KILL'] } }, 'capabilities', 'drop');
add('securityContext', 'nothing said: filled in', sidecar({}), 'allowed');
add(
  'securityContext',
  'the restricted set',
  secure({
    allowPrivilegeEscalation: false,
    runAsNonRoot: true,
    runAsUser: 1000,
    capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
    seccompProfile: { type: 'RuntimeDefault' },
  }),
  'allowed',
);
add(
  'securityContext',
  'an init container, as a sidecar',
  {
    init_containers: [{ ...container, securityContext: { privileged: true } }],
  },
  [400, 'init_containers', 0, 'securityContext', 'privileged'],
);
add('securityContext', 'a field that Kubernetes does not have', secure({ root: true }), [
  422,
  ...CONTEXT,
  'root',
]);
add('securityContext', 'procMount', secure({ procMount: 'Unmasked' }), [422, ...CONTEXT, 'procMount']);

// volumes nfs, inline csi: allowed; refused.
const nfs = { nfs: { server: 'nfs.example.com', path: '/x' } };
add('volumes nfs, inline csi', 'nfs', volume(nfs), 'allowed', [400, 'volumes', 0, 'nfs']);
add('volumes nfs, inline csi', 'csi', volume({ csi: { driver: 'csi.example.com' } }), 'allowed', [
  400,
  'volumes',
  0,
  'csi',
]);

// References by name: same namespace, never another deployment's.
const REFERENCES = 'secret, configMap, PVC, envFrom, valueFrom, image_pull_secrets';
add(REFERENCES, 'a Secret', volume({ secret: { secretName: 'mine' } }), 'allowed');
add(REFERENCES, 'a ConfigMap', volume({ configMap: { name: 'mine' } }), 'allowed');
add(REFERENCES, 'a claim', volume({ persistentVolumeClaim: { claimName: 'mine' } }), 'allowed');
add(REFERENCES, 'envFrom', sidecar({ envFrom: [{ secretRef: { name: 'mine' } }] }), 'allowed');
add(REFERENCES, 'a pull secret', { image_pull_secrets: [{ name: 'mine' }] }, 'allowed');
const ELSEWHERE: [string, object, ...Path][] = [
  ['a Secret', volume({ secret: { secretName: 'a', namespace: 'b' } }), 'volumes', 0, 'secret', 'namespace'],
  [
    'a ConfigMap',
    volume({ configMap: { name: 'a', namespace: 'b' } }),
    'volumes',
    0,
    'configMap',
    'namespace',
  ],
  [
    'a pull secret',
    { image_pull_secrets: [{ name: 'a', namespace: 'b' }] },
    'image_pull_secrets',
    0,
    'namespace',
  ],
];
for (const [what, spec, ...path] of ELSEWHERE)
  add(REFERENCES, `${what} of another namespace`, spec, [422, ...path]);
const of = (name: string) => `shop-0a1b2c3d-${name}`;
const FOREIGN: [string, object, ...Path][] = [
  ['credentials', volume({ secret: { secretName: of('db') } }), 'volumes', 0, 'secret', 'secretName'],
  [
    'environment, projected',
    volume({ projected: { sources: [{ secret: { name: of('env-3') } }] } }),
    'volumes',
    0,
    'projected',
    'sources',
    0,
    'secret',
    'name',
  ],
  [
    'environment, by envFrom',
    sidecar({ envFrom: [{ secretRef: { name: of('env-3') } }] }),
    'sidecars',
    0,
    'envFrom',
    0,
    'secretRef',
    'name',
  ],
  [
    'environment, by valueFrom',
    sidecar({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: of('env-3'), key: 'A' } } }] }),
    'sidecars',
    0,
    'env',
    0,
    'valueFrom',
    'secretKeyRef',
    'name',
  ],
  [
    'certificate, in an init container',
    { init_containers: [{ ...container, envFrom: [{ secretRef: { name: of('tls') } }] }] },
    'init_containers',
    0,
    'envFrom',
    0,
    'secretRef',
    'name',
  ],
  ['credentials, to pull', { image_pull_secrets: [{ name: of('db') }] }, 'image_pull_secrets', 0, 'name'],
  [
    'volume',
    volume({ persistentVolumeClaim: { claimName: of('db') } }),
    'volumes',
    0,
    'persistentVolumeClaim',
    'claimName',
  ],
];
for (const [what, spec, ...path] of FOREIGN)
  add(REFERENCES, `another deployment's ${what}`, spec, [400, ...path]);

// service_account_name: any but Berth's own; none.
const ACCOUNT = 'service_account_name';
add(ACCOUNT, 'an account', { service_account_name: 'payments' }, 'allowed', [400, ACCOUNT]);
add(ACCOUNT, "Berth's own", { service_account_name: 'berth-operator' }, [400, ACCOUNT]);

// projected serviceAccountToken: refused unless the policy names the audience; refused.
const TOKEN = 'projected serviceAccountToken';
const token = (audience: object) =>
  volume({ projected: { sources: [{ serviceAccountToken: { path: 'token', ...audience } }] } });
const TOKEN_AT = ['volumes', 0, 'projected', 'sources', 0, 'serviceAccountToken'] as const;
add(TOKEN, 'for the API server', token({}), [400, ...TOKEN_AT]);
add(TOKEN, 'for an audience', token({ audience: 'vault' }), [400, ...TOKEN_AT, 'audience']);

// namespace: in the listener's list; the tenant's own.
const AT = ['source_config', 'listener_config', 'cluster_namespace'] as const;
const namespace = (cluster_namespace: string) => ({
  source_config: { listener_config: { cluster_namespace } },
});
addBody('namespace', 'of the list', namespace('listed'), 'allowed', [400, ...AT]);
addBody('namespace', 'of no list', namespace('elsewhere'), [400, ...AT]);
addBody('namespace', 'of the system', namespace('kube-system'), [400, ...AT]);
addBody('namespace', "Berth's own", namespace('berth-system'), [400, ...AT]);
addBody(
  'namespace',
  "the tenant's own",
  ({ tenantId }) => namespace(tenantNamespace(tenantId)),
  [400, ...AT],
  'allowed',
);
addBody('namespace', "another tenant's", namespace(tenantNamespace('01890000-0000-7000-8000-00000000dead')), [
  400,
  ...AT,
]);

// labels, annotations: reserved; also what others act on.
const METADATA = 'labels, annotations';
for (const map of ['labels', 'annotations'] as const) {
  add(METADATA, `one's own in ${map}`, { [map]: { team: 'shop' } }, 'allowed');
  for (const key of [
    'berth.dev/deployment-id',
    'x.berth.dev/y',
    'app.kubernetes.io/name',
    'app.kubernetes.io/instance',
    'app.kubernetes.io/component',
    'app.kubernetes.io/managed-by',
  ]) {
    add(METADATA, `${key} in ${map}`, { [map]: { [key]: 'x' } }, [422, map, key]);
  }
  for (const key of [
    'nginx.ingress.kubernetes.io/rewrite-target',
    'sidecar.istio.io/inject',
    'linkerd.io/inject',
    'iam.amazonaws.com/role',
    'azure.workload.identity/use',
    'iam.gke.io/gcp-service-account',
    'cluster-autoscaler.kubernetes.io/safe-to-evict',
    'keda.sh/paused',
    'vault.hashicorp.com/agent-inject',
    'example.k8s.io/x',
    'example.com/team',
    'k8s.v1.cni.cncf.io/networks',
    'prometheus.io/scrape',
  ]) {
    add(METADATA, `${key} in ${map}`, { [map]: { [key]: 'true' } }, 'allowed', [400, map, key]);
  }
}

// Not in the contract: 422.
const OUTSIDE =
  'hostPath, hostNetwork, hostPort, nodeName, tolerations, priority, runtimeClass, subPath escapes';
add(OUTSIDE, 'hostPath', volume({ hostPath: { path: '/' } }), [422, 'volumes', 0, 'hostPath']);
for (const [field, value] of Object.entries({
  hostNetwork: true,
  hostPID: true,
  hostIPC: true,
  hostUsers: false,
  nodeName: 'node-1',
  node_name: 'node-1',
  nodeSelector: {},
  affinity: {},
  tolerations: [],
  priorityClassName: 'system-node-critical',
  runtimeClassName: 'x',
  schedulerName: 'x',
  securityContext: {},
  ephemeralContainers: [],
  automountServiceAccountToken: true,
})) {
  add(OUTSIDE, field, { [field]: value }, [422, field]);
}
add(OUTSIDE, 'hostPort', sidecar({ ports: [{ containerPort: 80, hostPort: 80 }] }), [
  422,
  'sidecars',
  0,
  'ports',
]);
add(OUTSIDE, 'hooks', sidecar({ lifecycle: {} }), [422, 'sidecars', 0, 'lifecycle']);
add(OUTSIDE, 'devices', sidecar({ volumeDevices: [] }), [422, 'sidecars', 0, 'volumeDevices']);
for (const field of ['subPath', 'subPathExpr']) {
  for (const path of ['../etc', 'a/../../etc', '..', '/etc']) {
    const mounts = [{ name: 'v', mountPath: '/v', [field]: path }];
    add(OUTSIDE, `${field} ${path}`, { volumes: [{ name: 'v' }], volume_mounts: mounts }, [
      422,
      'volume_mounts',
      0,
      field,
    ]);
    add(
      OUTSIDE,
      `${field} ${path} in a sidecar`,
      { volumes: [{ name: 'v' }], ...sidecar({ volumeMounts: mounts }) },
      [422, 'sidecars', 0, 'volumeMounts', 0, field],
    );
  }
}

// sizes: caps; lower ones.
const SIZES = 'sizes';
const { self_hosted: own, cloud: strangers } = DEFAULT_POLICIES;
for (const [field, cap] of [
  ['max_scale', 'scale'],
  ['queue_max_scale', 'scale'],
  ['cpu', 'cpu'],
  ['cpu_limit', 'cpu'],
  ['memory_mb', 'memory_mb'],
  ['db_storage_gi', 'storage_gi'],
] as const) {
  add(SIZES, `${field} at the lower cap`, { [field]: strangers.caps[cap] }, 'allowed');
  add(SIZES, `${field} above it`, { [field]: strangers.caps[cap] + 1 }, 'allowed', [400, field]);
  add(SIZES, `${field} above the higher one`, { [field]: own.caps[cap] + 1 }, [422, field]);
}
const many = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n));
add(
  SIZES,
  'containers',
  {
    sidecars: many(strangers.caps.containers + 1, (n) => ({ ...container, name: `c${n}` })),
  },
  'allowed',
  [400, 'sidecars'],
);
add(SIZES, 'volumes', { volumes: many(strangers.caps.volumes + 1, (n) => ({ name: `v${n}` })) }, 'allowed', [
  400,
  'volumes',
]);
add(SIZES, 'volumes beyond both', { volumes: many(65, (n) => ({ name: `v${n}` })) }, [422, 'volumes']);
add(
  SIZES,
  'variables',
  sidecar({
    env: many(strangers.caps.env_count + 1, (n) => ({ name: `V${n}`, value: '' })),
  }),
  'allowed',
  [400, 'sidecars', 0, 'env'],
);
add(
  SIZES,
  'bytes of variables',
  sidecar({
    env: many(9, (n) => ({ name: `V${n}`, value: 'x'.repeat(32_000) })),
  }),
  // Above what a resource_spec may weigh at all.
  [400],
  [400, 'sidecars', 0, 'env'],
);
add(SIZES, "a sidecar's cores", sidecar({ resources: { limits: { cpu: '33' } } }), 'allowed', [
  400,
  'sidecars',
  0,
  'resources',
  'limits',
  'cpu',
]);
addBody(
  SIZES,
  'secrets',
  {
    secrets: many(strangers.caps.secrets + 1, (n) => ({ name: `S${n}`, value: '' })),
  },
  'allowed',
  [400, 'secrets'],
);
addBody(
  SIZES,
  'the cap of a deployment_type',
  {
    source_config: { deployment_type: 'dev_free', resource_spec: { max_scale: 2 } },
  },
  'allowed',
  [400, ...SPEC, 'max_scale'],
);

// custom_url: https, host checked, unique, never the platform's own; set by the server.
const URL_AT = ['source_config', 'custom_url'] as const;
export const url = (custom_url: string) => ({ source_config: { custom_url } });
addBody('custom_url', 'a host', () => url(`https://${uniqueName()}.example.com`), 'allowed', [
  400,
  ...URL_AT,
]);
addBody('custom_url', 'http', url('http://shop.example.com'), [422, ...URL_AT]);
addBody('custom_url', "the platform's own", url('https://berth.example.com/x'), [400, ...URL_AT]);
addBody('custom_url', "the platform's own in capitals", url('https://BERTH.Example.Com'), [400, ...URL_AT]);
addBody(
  'custom_url',
  "the registry's, which is the platform's own",
  url('https://Registry.Berth.Example.Com/v2'),
  [400, ...URL_AT],
);
addBody('custom_url', "the platform's own with a dot", url('https://berth.example.com.'), [422, ...URL_AT]);
for (const host of [
  'localhost',
  '127.0.0.1',
  '[::1]',
  'kubernetes.default.svc',
  'a.svc.cluster.local',
  '*.example.com',
  'u:p@shop.example.com',
  'shop.example.com:8443',
])
  addBody('custom_url', host, url(`https://${host}`), [422, ...URL_AT]);

// domains: as custom_url, without scheme; none by default in cloud mode.
const DOMAIN_AT = ['source_config', 'domains', 0] as const;
const domain = (host: string) => ({ source_config: { domains: [host] } });
addBody('domains', 'a host', () => domain(`${uniqueName().toLowerCase()}.example.com`), 'allowed', [
  400,
  ...DOMAIN_AT,
]);
addBody('domains', "the platform's own", domain('berth.example.com'), [400, ...DOMAIN_AT]);
addBody('domains', "the platform's own in capitals", domain('BERTH.Example.Com.'), [400, ...DOMAIN_AT]);
for (const host of [
  'localhost',
  '127.0.0.1',
  '*.example.com',
  'shop.example.com:8443',
  'https://shop.example.com',
])
  addBody('domains', host, domain(host), [422, ...DOMAIN_AT]);

// repo_url: https only, no private addresses.
const git = (repo_url: string) => ({
  source: 'git_host',
  source_config: { repo_url },
  source_revision_config: { workflow_config_path: 'app.json' },
});
addBody('repo_url', 'https', git('https://git.example.com/a/b'), [400, 'source'], 'allowed');
for (const address of [
  'http://git.example.com/a/b',
  'git://git.example.com/a/b',
  'ssh://git@git.example.com/a/b',
  'file:///etc/passwd',
  'ext::sh -c id',
  'https://localhost/a',
  'https://127.0.0.1/a',
  'https://0x7f.1/a',
  'https://2130706433/a',
  'https://10.0.0.1/a',
  'https://169.254.169.254/latest',
  'https://[::1]/a',
  'https://[::ffff:127.0.0.1]/a',
  'https://[fd00::1]/a',
  'https://kubernetes.default.svc/a',
  'https://metadata.google.internal/a',
  'https://user:password@git.example.com/a',
]) {
  addBody('repo_url', address, git(address), [422, 'source_config', 'repo_url']);
}

// What only the cluster can know.
const UNKNOWN = 'what only the cluster can know is accepted';
add(UNKNOWN, 'a ServiceAccount that is not there', { service_account_name: 'nobody' }, 'allowed', [
  400,
  ACCOUNT,
]);
add(UNKNOWN, 'a Secret that is not there', volume({ secret: { secretName: 'nowhere' } }), 'allowed');
add(
  UNKNOWN,
  'a ConfigMap that is not there',
  sidecar({ envFrom: [{ configMapRef: { name: 'nowhere' } }] }),
  'allowed',
);
add(
  UNKNOWN,
  'a claim that is not there',
  volume({ persistentVolumeClaim: { claimName: 'nowhere' } }),
  'allowed',
);
add(UNKNOWN, 'more than a quota has', { cpu: 31 }, 'allowed');

/** The table's rows; each must have cases of both kinds. */
export const TABLE = [
  'securityContext',
  'volumes nfs, inline csi',
  REFERENCES,
  ACCOUNT,
  TOKEN,
  'namespace',
  METADATA,
  OUTSIDE,
  SIZES,
  'custom_url',
  'domains',
  'repo_url',
  UNKNOWN,
];

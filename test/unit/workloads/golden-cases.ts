import type { RenderConfig } from '../../../src/contract/render/render-config.ts';
import type { ResourceSpec } from '../../../src/domain/resource-spec/resource-spec.ts';
import type { RunSettings } from '../../../src/domain/run-settings/run-settings.ts';
import { fullResourceSpec } from '../../arbitraries/full-resource-spec.ts';
import { POD_SETTING_CASES } from './pod-settings-cases.ts';
import { CLOUD, minimalRequest, type RequestBody, SELF_HOSTED } from './render-request.ts';

/** The inputs of the golden tests: whole applications, of which test/golden/<case>/ holds every object. */
export interface GoldenCase {
  /** Folder below test/golden. */
  readonly name: string;
  /** What a reader is to look at. */
  readonly about: string;
  readonly request: RequestBody;
  readonly config: RenderConfig;
}

const withSpec = (spec: ResourceSpec): RequestBody => minimalRequest(spec);

function internal(request: RequestBody): RequestBody {
  return { ...request, source: 'internal_image' };
}

function withSettings(settings: RunSettings): RequestBody {
  const request = minimalRequest();
  return { ...request, source_revision_config: { ...request.source_revision_config, ...settings } };
}

/** Values that stay in Secrets of the cluster. */
const SECRET_REFERENCES = [
  { name: 'STRIPE_KEY', secret_name: 'payments', secret_key: 'api-key' },
  { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', secret_name: 'telemetry', secret_key: 'endpoint' },
  { name: 'DATABASE_URI_CUSTOM', secret_name: 'services', secret_key: 'database' },
];

/** Every run setting. One image runs as four components, of which only commands make the last three. */
const RUN_SETTINGS = {
  port: 8080,
  commands: {
    api: { args: ['--listen', '$(PORT)'] },
    queue: { command: ['/bin/sh', '-c'], args: ['exec ./worker'] },
    orchestrator: { command: ['./orchestrate'] },
    executor: { args: ['execute'] },
  },
  env: [
    { name: 'DATABASE_URL', value: '$(DATABASE_URI)?pool=$(DATABASE_POOL_SIZE)' },
    { name: 'LOG_LEVEL', value: 'debug' },
    { name: 'OTEL_SERVICE_NAME', value: 'checkout' },
    { name: 'EMPTY', value: '' },
  ],
  releaseCommand: ['./manage', 'migrate', '--database=$(DATABASE_URI)'],
  releaseTimeoutSeconds: 600,
} satisfies RunSettings;

const helper = { image: 'registry.example.com/helper:1' };
const custom = (name: string) => ({ name, value: 'never shown' });

/** Members of a container that Pod Security has something to say about. */
const SECURITY_CONTEXTS = {
  init_containers: [
    { ...helper, name: 'says-nothing' },
    {
      ...helper,
      name: 'adds-a-capability',
      securityContext: { capabilities: { add: ['NET_BIND_SERVICE'] } },
    },
    { ...helper, name: 'drops-one', securityContext: { capabilities: { drop: ['ALL'] }, runAsUser: 10001 } },
  ],
  sidecars: [
    {
      ...helper,
      name: 'own-profile',
      securityContext: { seccompProfile: { type: 'Localhost' as const, localhostProfile: 'own.json' } },
    },
    {
      ...helper,
      name: 'read-only',
      restartPolicy: 'Always' as const,
      securityContext: { readOnlyRootFilesystem: true },
    },
  ],
} satisfies ResourceSpec;

/** Allowed in self_hosted at privileged level only: what must not be filled in beside a privilege. */
const PRIVILEGED = {
  init_containers: [
    { ...helper, name: 'privileged', securityContext: { privileged: true } },
    { ...helper, name: 'sys-admin', securityContext: { capabilities: { add: ['SYS_ADMIN'] } } },
  ],
} satisfies ResourceSpec;

const EVERY_COMPONENT = { queue_cpu: 0.5, orchestrator_cpu: 1, executor_cpu: 1 } satisfies ResourceSpec;

export const GOLDEN_CASES: readonly GoldenCase[] = [
  {
    name: 'minimal',
    about: 'Nothing but a name and an image: every default.',
    request: minimalRequest(),
    config: SELF_HOSTED,
  },
  {
    name: 'static-site',
    about: 'No database and no cache: one Deployment with its Service and route.',
    request: {
      ...minimalRequest(),
      source_config: {
        custom_url: 'https://site.example.com',
        database: { enabled: false },
        cache: { enabled: false },
      },
    },
    config: SELF_HOSTED,
  },
  {
    name: 'everything',
    about: 'Every field of resource_spec, every kind of volume, at once.',
    request: {
      ...withSpec(fullResourceSpec),
      source_config: {
        deployment_type: 'prod',
        custom_url: 'https://payments.example.com',
        resource_spec: fullResourceSpec,
      },
      secrets: [{ name: 'SIGNING_KEY', value: 'never shown' }],
    },
    config: SELF_HOSTED,
  },
  {
    name: 'every-component',
    about: 'One field of each prefix brings its Deployment.',
    request: withSpec(EVERY_COMPONENT),
    config: SELF_HOSTED,
  },
  {
    name: 'autoscaled',
    about: 'min < max: autoscalers; min ≥ 2: a disruption budget.',
    request: withSpec({ min_scale: 2, max_scale: 6, queue_min_scale: 0, queue_max_scale: 3 }),
    config: SELF_HOSTED,
  },
  {
    name: 'fixed-scale',
    about: 'min = max: no autoscaler.',
    request: withSpec({ min_scale: 3, max_scale: 3 }),
    config: SELF_HOSTED,
  },
  {
    name: 'switched-off',
    about: 'max_scale 0: everything at no pods, whatever min says; data and addresses stay.',
    request: withSpec({ ...EVERY_COMPONENT, min_scale: 2, max_scale: 0, queue_max_scale: 3 }),
    config: SELF_HOSTED,
  },
  {
    name: 'component-off',
    about: 'queue_max_scale 0: only the queue at no pods.',
    request: withSpec({ queue_min_scale: 2, queue_max_scale: 0 }),
    config: SELF_HOSTED,
  },
  {
    name: 'no-revision',
    about: 'internal_image before its first image: nothing runs, data services wait at no pods.',
    request: { ...internal(minimalRequest()), source_revision_config: {} },
    config: SELF_HOSTED,
  },
  {
    name: 'external-data-services',
    about: 'DATABASE_URI_CUSTOM and CACHE_URI_CUSTOM among the secrets: no database, no cache.',
    request: { ...minimalRequest(), secrets: [custom('DATABASE_URI_CUSTOM'), custom('CACHE_URI_CUSTOM')] },
    config: SELF_HOSTED,
  },
  {
    name: 'external-data-services-in-env',
    about: 'DATABASE_URI_CUSTOM and CACHE_URI_CUSTOM in env: no database, no cache.',
    request: withSettings({
      env: [
        { name: 'DATABASE_URI_CUSTOM', value: 'postgresql://shared.example.com/demo' },
        { name: 'CACHE_URI_CUSTOM', value: 'redis://shared.example.com' },
      ],
    }),
    config: SELF_HOSTED,
  },
  {
    name: 'ordinary-image',
    about: 'Another port, a command of each component, variables: no component of resource_spec is needed.',
    request: internal(withSettings(RUN_SETTINGS)),
    config: { ...CLOUD, otlpEndpoint: 'http://collector.observability:4318' },
  },
  {
    name: 'secrets',
    about: 'Secrets reach the app container by envFrom; no value is in any object.',
    request: { ...minimalRequest(), secrets: [custom('SIGNING_KEY')] },
    config: SELF_HOSTED,
  },
  {
    name: 'secret-references',
    about:
      'Values stay in Secrets of the cluster, also that of the database. Values of env can refer to them, and an endpoint replaces that of the platform.',
    request: {
      ...withSettings({ env: [{ name: 'PAYMENT_URL', value: 'https://x:$(STRIPE_KEY)@pay.example.com' }] }),
      secret_references: SECRET_REFERENCES,
    },
    config: { ...SELF_HOSTED, otlpEndpoint: 'http://collector.observability:4318' },
  },
  {
    name: 'hostile-name',
    about: "A name that Kubernetes' variable expansion, labels and OpenTelemetry would each misread.",
    request: { ...minimalRequest(), name: '$(PORT) $$ 100%, a=b; Füße' },
    config: SELF_HOSTED,
  },
  {
    name: 'ingress',
    about: 'custom_url with a path; an issuer for the certificate.',
    request: { ...minimalRequest(), source_config: { custom_url: 'https://demo.example.com/shop/' } },
    config: { ...SELF_HOSTED, routing: { mode: 'ingress', className: 'nginx', tlsIssuer: 'letsencrypt' } },
  },
  {
    name: 'gateway',
    about: 'routing by Gateway API.',
    request: { ...minimalRequest(), source_config: { custom_url: 'https://demo.example.com' } },
    config: { ...SELF_HOSTED, routing: { mode: 'gateway', className: 'edge/public', tlsIssuer: null } },
  },
  {
    name: 'domains',
    about: 'Additional hosts beside custom_url: a route and a certificate of each.',
    request: {
      ...minimalRequest(),
      source_config: {
        custom_url: 'https://demo.example.com/shop',
        domains: ['demo.example.org', 'www.demo.example.org'],
      },
    },
    config: { ...SELF_HOSTED, routing: { mode: 'ingress', className: 'nginx', tlsIssuer: 'letsencrypt' } },
  },
  {
    name: 'domains-gateway',
    about: 'Additional hosts without custom_url, by Gateway API.',
    request: { ...minimalRequest(), source_config: { domains: ['demo.example.org'] } },
    config: { ...SELF_HOSTED, routing: { mode: 'gateway', className: 'edge/public', tlsIssuer: null } },
  },
  {
    name: 'operator-settings',
    about:
      'BERTH_HEALTH_PATH, an OTLP endpoint, a storage class, another deadline, pods that must stay ready, no routing.',
    request: { ...minimalRequest(), source_config: { custom_url: 'https://demo.example.com' } },
    config: {
      ...SELF_HOSTED,
      healthPath: '/healthz',
      otlpEndpoint: 'http://collector.observability:4318',
      storageClass: 'fast',
      progressDeadlineSeconds: 90,
      minReadySeconds: 10,
      routing: { mode: 'none', className: null, tlsIssuer: null },
    },
  },
  {
    name: 'cloud',
    about: 'Pod Security restricted on every container, default-deny network.',
    request: internal(
      withSpec({
        ...EVERY_COMPONENT,
        sidecars: [{ ...helper, name: 'says-nothing' }],
        init_containers: [{ ...helper, name: 'also-nothing' }],
      }),
    ),
    config: CLOUD,
  },
  {
    name: 'security-contexts',
    about: 'Given security contexts keep what they say, absent fields are filled in.',
    request: withSpec(SECURITY_CONTEXTS),
    config: SELF_HOSTED,
  },
  {
    name: 'security-contexts-cloud',
    about: 'The same where Pod Security is restricted.',
    request: internal(withSpec(SECURITY_CONTEXTS)),
    config: CLOUD,
  },
  {
    name: 'security-contexts-privileged',
    about:
      'Beside a privilege no refusal of escalation is filled in: Kubernetes would refuse the two together.',
    request: withSpec(PRIVILEGED),
    config: { ...SELF_HOSTED, podSecurity: 'privileged' },
  },
  {
    name: 'container-order',
    about: 'Native sidecars first, then init containers as given; ordinary sidecars after app.',
    request: withSpec({
      init_containers: [
        { ...helper, name: 'first' },
        { ...helper, name: 'native-in-between', restartPolicy: 'Always' },
        { ...helper, name: 'last', restartPolicy: 'OnFailure' },
      ],
      sidecars: [
        { ...helper, name: 'ordinary' },
        { ...helper, name: 'native', restartPolicy: 'Always' },
        { ...helper, name: 'once', restartPolicy: 'Never' },
      ],
    }),
    config: SELF_HOSTED,
  },
  {
    name: 'defaults-dev-free',
    about: 'deployment_type dev_free.',
    request: { ...minimalRequest(), source_config: { deployment_type: 'dev_free' } },
    config: SELF_HOSTED,
  },
  {
    name: 'defaults-prod',
    about: 'deployment_type prod.',
    request: { ...minimalRequest(), source_config: { deployment_type: 'prod' } },
    config: SELF_HOSTED,
  },
];

/** Where the full spec happens to say the default, which alone would show nothing. */
const NO_DEFAULTS = {
  db_cpu: 2,
  db_cpu_limit: 4,
  db_memory_mb: 1536,
  db_memory_limit_mb: 3072,
} satisfies ResourceSpec;

/** resource_spec of the per-field cases: one field alone, with what it cannot do without. */
function alone(field: keyof typeof fullResourceSpec): ResourceSpec {
  const spec: ResourceSpec = { [field]: { ...fullResourceSpec, ...NO_DEFAULTS }[field] };
  const mounts = ['volume_mounts', 'init_containers', 'sidecars'].includes(field);
  return mounts ? { ...spec, volumes: fullResourceSpec.volumes } : spec;
}

/** Fields of releases change no object of a deployment, because a release runs before. */
const SETTINGS = (Object.keys(RUN_SETTINGS) as (keyof typeof RUN_SETTINGS)[]).filter(
  (field) => !field.startsWith('release'),
);

/** One field at a time; test/golden/fields/<field>/ says what it changes against the case `minimal`. */
export const FIELD_CASES: readonly { field: string; request: RequestBody }[] = [
  ...(Object.keys(fullResourceSpec) as (keyof typeof fullResourceSpec)[]).map((field) => ({
    field,
    request: withSpec(alone(field)),
  })),
  ...SETTINGS.map((field) => ({ field, request: withSettings({ [field]: RUN_SETTINGS[field] }) })),
  ...fullResourceSpec.volumes.map((volume) => {
    const kind = Object.keys(volume).find((key) => key !== 'name') ?? 'none';
    return { field: `volumes.${kind}`, request: withSpec({ volumes: [volume] }) };
  }),
  { field: 'secret_references', request: { ...minimalRequest(), secret_references: SECRET_REFERENCES } },
  ...POD_SETTING_CASES,
];

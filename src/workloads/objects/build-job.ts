import type {
  V1Container,
  V1EnvVar,
  V1JobSpec,
  V1PodSpec,
  V1SecurityContext,
  V1Volume,
  V1VolumeMount,
} from '@kubernetes/client-node';
import type { BuildConfig } from '../../contract/render/build-config.ts';
import { BUILD_FILES, BUILD_SECRET_KEYS, type BuildSpec } from '../../contract/resource/build.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { ANNOTATIONS, buildJobName, buildName, LABELS, MANAGED_BY } from '../../contract/resource/names.ts';
import type { BuildStep } from '../../domain/builds/build.ts';
import { CACHE_TAG, revisionTag } from '../../domain/builds/build-tags.ts';
import type { KubeObject } from '../desired-object.ts';
import { deploymentId, labelValue } from '../labels.ts';
import { app } from '../names.ts';
import { OWN_CONTAINER_SECURITY } from './security.ts';

/** The Job of one attempt of a build (docs/decisions/0027): three steps, one after another, on a volume that they share. */

/** `app.kubernetes.io/component` of what a build consists of. */
export const BUILD_COMPONENT = 'build';

/** The user that the image of rootless BuildKit is made for; the other steps write files that it must read. */
const USER = 1000;
const WORKSPACE = '/workspace';
const GIT_CREDENTIALS = '/credentials/git';
const REGISTRY_CREDENTIALS = '/credentials/registry';
/** Where rootless BuildKit keeps its layers. */
const BUILDKIT_STATE = '/home/user/.local/share/buildkit';
/** Between the request to end and the end: nothing of an unfinished build is worth waiting for. */
const GRACE_SECONDS = 5;

/** Labels of Job, pod and Secret of a build: by them they are found, and known to be ours. */
export function buildLabels(resource: ManagedDeployment, revisionId: string): Record<string, string> {
  const { tenantId } = resource.spec;
  return {
    [LABELS.name]: labelValue(app(resource)),
    [LABELS.instance]: labelValue(app(resource)),
    [LABELS.partOf]: labelValue(app(resource)),
    [LABELS.component]: BUILD_COMPONENT,
    [LABELS.managedBy]: MANAGED_BY,
    [LABELS.deploymentId]: labelValue(deploymentId(resource)),
    ...(tenantId === undefined ? {} : { [LABELS.tenantId]: labelValue(tenantId) }),
    [LABELS.revisionId]: labelValue(revisionId),
    [LABELS.namespace]: labelValue(resource.metadata.namespace),
  };
}

/** Name of the Job of an attempt at the build that the resource asks for. */
export function jobName(resource: ManagedDeployment, build: BuildSpec, attempt: number): string {
  return buildJobName(buildName(resource.metadata, build.revisionId), attempt);
}

/**
 * The Job of one attempt. Its pod fails at once when a step does: whether that is tried again is decided by the operator,
 * which makes another Job.
 */
export function buildJob(
  resource: ManagedDeployment,
  build: BuildSpec,
  config: BuildConfig,
  attempt: number,
): KubeObject {
  const labels = buildLabels(resource, build.revisionId);
  const annotations = { [ANNOTATIONS.buildAttempt]: String(attempt) };
  const spec: V1JobSpec = {
    backoffLimit: 0,
    completions: 1,
    parallelism: 1,
    activeDeadlineSeconds: config.timeoutSeconds,
    ttlSecondsAfterFinished: config.keepSeconds,
    template: { metadata: { labels, annotations }, spec: podSpec(resource, build, config) },
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: jobName(resource, build, attempt),
      namespace: config.namespace,
      labels,
      annotations,
    },
    spec,
  };
}

function podSpec(resource: ManagedDeployment, build: BuildSpec, config: BuildConfig): V1PodSpec {
  const { nodeSelector, tolerations, pullSecret } = config;
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    securityContext: { runAsUser: USER, runAsGroup: USER, fsGroup: USER, runAsNonRoot: true },
    initContainers: [sourceStep(build, config), imageStep(resource, build, config)],
    containers: [resultStep(config)],
    volumes: volumes(buildName(resource.metadata, build.revisionId), config),
    ...(pullSecret === null ? {} : { imagePullSecrets: [{ name: pullSecret }] }),
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector: { ...nodeSelector } }),
    ...(tolerations.length === 0
      ? {}
      : {
          tolerations: tolerations.map((toleration) => ({
            ...toleration,
            operator: toleration.value === undefined ? 'Exists' : 'Equal',
          })),
        }),
  };
}

/**
 * The credentials for the git host reach the first step alone, those for the registry the second.
 * @param secretName derived from the place and the revision; what the custom resource names is not mounted
 */
function volumes(secretName: string, { workspace, caConfigMap }: BuildConfig): V1Volume[] {
  const { gitUsername, gitToken, dockerConfig } = BUILD_SECRET_KEYS;
  const items = (keys: readonly string[]) => keys.map((key) => ({ key, path: key }));
  return [
    { name: 'workspace', emptyDir: { sizeLimit: workspace } },
    { name: 'buildkit', emptyDir: { sizeLimit: workspace } },
    { name: 'tmp', emptyDir: { sizeLimit: '1Gi' } },
    {
      name: 'git',
      // A public repository needs none.
      secret: { secretName, items: items([gitUsername, gitToken]), optional: true, defaultMode: 0o440 },
    },
    { name: 'registry', secret: { secretName, items: items([dockerConfig]), defaultMode: 0o440 } },
    ...(caConfigMap === null ? [] : [{ name: 'ca', configMap: { name: caConfigMap } }]),
  ];
}

const WORKSPACE_MOUNT = { name: 'workspace', mountPath: WORKSPACE };
const TMP_MOUNT = { name: 'tmp', mountPath: '/tmp' };

const CA = '/certificates';
const caMounts = ({ caConfigMap }: BuildConfig): V1VolumeMount[] =>
  caConfigMap === null ? [] : [{ name: 'ca', mountPath: CA, readOnly: true }];

/** As programs in Go read them: BuildKit's authorities, beside those of its image, and its proxy. */
function networkVariables({ caConfigMap, proxy }: BuildConfig): V1EnvVar[] {
  return [
    ...(caConfigMap === null ? [] : [{ name: 'SSL_CERT_DIR', value: `/etc/ssl/certs:${CA}` }]),
    ...proxyVariables(proxy).map(([name, value]) => ({ name, value })),
  ];
}

function proxyVariables(proxy: BuildConfig['proxy']): (readonly [name: string, value: string])[] {
  if (proxy === null) return [];
  const { url, except } = proxy;
  const none = except === '' ? [] : [['NO_PROXY', except] as const];
  return [['HTTP_PROXY', url], ['HTTPS_PROXY', url], ...none];
}

/** Failures of a step end up in the pod's status: what it wrote for that, else its last lines. */
function step(name: BuildStep, container: Omit<V1Container, 'name'>): V1Container {
  return {
    name,
    imagePullPolicy: 'IfNotPresent',
    terminationMessagePolicy: 'FallbackToLogsOnError',
    ...container,
  };
}

/** Berth's own steps need little. */
const SMALL = {
  requests: { cpu: '100m', memory: '128Mi' },
  limits: { cpu: '1', memory: '1Gi' },
};

const OWN_SECURITY: V1SecurityContext = {
  ...OWN_CONTAINER_SECURITY,
  seccompProfile: { type: 'RuntimeDefault' },
};

function sourceStep(build: BuildSpec, config: BuildConfig): V1Container {
  const { berthImage, sourceVariables, caConfigMap } = config;
  const ca: Record<string, string> = caConfigMap === null ? {} : { BERTH_BUILD_CA: `${CA}/ca.crt` };
  const { repoUrl, ref, commit, configPath, installCommand, buildCommand } = build;
  // One argument each: a value that begins with a dash is no option.
  const given = (flag: string, value: string | undefined) =>
    value === undefined ? [] : [`${flag}=${value}`];
  return step('source', {
    image: berthImage,
    args: [
      'build-step',
      'source',
      `--repo-url=${repoUrl}`,
      ...given('--ref', ref),
      ...given('--commit', commit),
      `--config=${configPath}`,
      ...given('--install-command', installCommand),
      ...given('--build-command', buildCommand),
      `--workspace=${WORKSPACE}`,
      `--credentials=${GIT_CREDENTIALS}`,
    ].map(literally),
    env: Object.entries({ HOME: '/tmp', ...sourceVariables, ...ca }).map(([name, value]) => ({
      name,
      value,
    })),
    resources: SMALL,
    securityContext: OWN_SECURITY,
    volumeMounts: [
      WORKSPACE_MOUNT,
      TMP_MOUNT,
      { name: 'git', mountPath: GIT_CREDENTIALS, readOnly: true },
      ...caMounts(config),
    ],
  });
}

/** Kubernetes expands `$(NAME)` in arguments; what tenants write stays as it is. */
function literally(text: string): string {
  return text.replaceAll('$', '$$$$');
}

/** What BuildKit calls an option: `key=value` pairs in CSV, so a value with a comma or quote stands in quotes. */
function option(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([key, value]) => `${key}=${value}`)
    .map((field) => (/[",]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field))
    .join(',');
}

/** A daemon of several builds keeps `RUN --mount=type=cache` for all of them: by this each deployment has its own. */
function ownCacheMounts(resource: ManagedDeployment): string {
  return `--opt=build-arg:BUILDKIT_CACHE_MOUNT_NS=${deploymentId(resource)}`;
}

function imageStep(
  resource: ManagedDeployment,
  { repository, number }: BuildSpec,
  config: BuildConfig,
): V1Container {
  const { buildkitImage, buildkitHost, resources, insecureRegistry } = config;
  const insecure: Record<string, string> = insecureRegistry ? { 'registry.insecure': 'true' } : {};
  const output = option({
    type: 'image',
    // What has no tag is rubbish to a registry that collects it.
    name: `${repository}:${revisionTag(number)}`,
    push: 'true',
    ...insecure,
  });
  return step('image', {
    image: buildkitImage,
    command: [buildkitHost === null ? 'buildctl-daemonless.sh' : 'buildctl'],
    args: [
      'build',
      '--progress=plain',
      '--frontend=dockerfile.v0',
      ownCacheMounts(resource),
      // Of what Dockerfiles run; these leave nothing in the image, and nothing in what the cache is known by.
      ...proxyVariables(config.proxy).map(([name, value]) => `--opt=build-arg:${name}=${value}`),
      `--local=context=${WORKSPACE}/${BUILD_FILES.context}`,
      `--local=dockerfile=${WORKSPACE}/${BUILD_FILES.dockerfile}`,
      `--output=${output}`,
      `--metadata-file=${WORKSPACE}/${BUILD_FILES.metadata}`,
      ...(config.cache ? cacheArguments(repository, insecureRegistry) : []),
    ].map(literally),
    env: [
      { name: 'DOCKER_CONFIG', value: REGISTRY_CREDENTIALS },
      ...(buildkitHost === null ? OWN_DAEMON : [{ name: 'BUILDKIT_HOST', value: buildkitHost }]),
      ...networkVariables(config),
    ],
    resources: { requests: { ...resources }, limits: { ...resources } },
    securityContext: buildkitHost === null ? ROOTLESS_BUILDKIT : OWN_SECURITY,
    volumeMounts: [
      WORKSPACE_MOUNT,
      TMP_MOUNT,
      { name: 'registry', mountPath: REGISTRY_CREDENTIALS, readOnly: true },
      { name: 'buildkit', mountPath: BUILDKIT_STATE },
      ...caMounts(config),
    ],
  });
}

/**
 * Rootless BuildKit makes user and mount namespaces of its own: seccomp and AppArmor must let it, and newuidmap is
 * setuid. So it is refused at the level *baseline*.
 */
const ROOTLESS_BUILDKIT: V1SecurityContext = {
  runAsNonRoot: true,
  allowPrivilegeEscalation: true,
  seccompProfile: { type: 'Unconfined' },
  appArmorProfile: { type: 'Unconfined' },
};

/** Of buildctl-daemonless.sh. It waits 0.1 s for its daemon, then 20 ms longer each time: 42 s by 60 times, and 2 by its own ten. */
const OWN_DAEMON: V1EnvVar[] = [
  { name: 'BUILDKITD_FLAGS', value: '--oci-worker-no-process-sandbox' },
  { name: 'BUILDCTL_CONNECT_RETRIES_MAX', value: '60' },
];

/** A cache that cannot be read or written makes a build slower, and nothing else. */
function cacheArguments(repository: string, isInsecure: boolean): string[] {
  const ref = `${repository}:${CACHE_TAG}`;
  const insecure: Record<string, string> = isInsecure ? { 'registry.insecure': 'true' } : {};
  return [
    `--import-cache=${option({ type: 'registry', ref, ...insecure })}`,
    `--export-cache=${option({ type: 'registry', ref, mode: 'max', 'ignore-error': 'true', ...insecure })}`,
  ];
}

function resultStep({ berthImage }: BuildConfig): V1Container {
  return step('result', {
    image: berthImage,
    args: ['build-step', 'result', `--workspace=${WORKSPACE}`],
    resources: SMALL,
    securityContext: OWN_SECURITY,
    volumeMounts: [WORKSPACE_MOUNT, TMP_MOUNT],
  });
}

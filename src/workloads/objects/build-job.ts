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

/** The Job of one attempt of a build (docs/decisions/0027): three consecutive steps with a shared volume. */

/** Value of `app.kubernetes.io/component` for objects of a build. */
export const BUILD_COMPONENT = 'build';

/** The user of the image of rootless BuildKit. This user must be able to read the files of the other steps. */
const USER = 1000;
const WORKSPACE = '/workspace';
const SOURCE_CREDENTIALS = '/credentials/git';
const REGISTRY_CREDENTIALS = '/credentials/registry';
/** Folder in which rootless BuildKit keeps its layers. */
const BUILDKIT_STATE = '/home/user/.local/share/buildkit';
/** Grace period of build pods. The period is short, because an unfinished build has no state to save. */
const GRACE_SECONDS = 5;

/** Labels of Job, pod and Secret of a build, which identify these objects as objects of Berth. */
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

/** Name of the Job of an attempt of the requested build. */
export function jobName(resource: ManagedDeployment, build: BuildSpec, attempt: number): string {
  return buildJobName(buildName(resource.metadata, build.revisionId), attempt);
}

/**
 * The Job of one attempt. The pod of the Job fails at once when a step fails. The operator decides about a retry, with
 * another Job.
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
    volumes: volumes(buildName(resource.metadata, build.revisionId), build, config),
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
 * Only the first step gets the credentials for the git host or the uploaded folder, and only the second step gets the
 * credentials to push the image.
 * @param secretName name that is derived from namespace, name and revision. The Secret that the custom resource names
 * is not mounted
 */
function volumes(
  secretName: string,
  { upload }: BuildSpec,
  { workspace, caConfigMap }: BuildConfig,
): V1Volume[] {
  const { gitUsername, gitToken, dockerConfig, sourceConfig } = BUILD_SECRET_KEYS;
  const items = (keys: readonly string[]) => keys.map((key) => ({ key, path: key }));
  return [
    { name: 'workspace', emptyDir: { sizeLimit: workspace } },
    { name: 'buildkit', emptyDir: { sizeLimit: workspace } },
    { name: 'tmp', emptyDir: { sizeLimit: '1Gi' } },
    {
      name: 'git',
      secret:
        upload === undefined
          ? // The credentials are optional, because a public repository needs no credentials.
            { secretName, items: items([gitUsername, gitToken]), optional: true, defaultMode: 0o440 }
          : { secretName, items: items([sourceConfig]), defaultMode: 0o440 },
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

/** Variables for Go programs: certificate authorities of BuildKit, in addition to those of its image, and its proxy. */
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

/** A failed step writes its termination message, or its last lines of output, to the status of the pod. */
function step(name: BuildStep, container: Omit<V1Container, 'name'>): V1Container {
  return {
    name,
    imagePullPolicy: 'IfNotPresent',
    terminationMessagePolicy: 'FallbackToLogsOnError',
    ...container,
  };
}

/** Resources of the steps that Berth implements. */
const SMALL = {
  requests: { cpu: '100m', memory: '128Mi' },
  limits: { cpu: '1', memory: '1Gi' },
};

const OWN_SECURITY: V1SecurityContext = {
  ...OWN_CONTAINER_SECURITY,
  seccompProfile: { type: 'RuntimeDefault' },
};

/** `--flag=value` as one argument, so that a value with a leading dash is not read as an option. */
const given = (flag: string, value: string | number | undefined) =>
  value === undefined ? [] : [`${flag}=${value}`];

/** What the first step reads: a repository or an uploaded folder. */
function sourceArguments({ repoUrl, ref, commit, upload }: BuildSpec, config: BuildConfig): string[] {
  if (upload === undefined)
    return ['source', ...given('--repo-url', repoUrl), ...given('--ref', ref), ...given('--commit', commit)];
  const { unpackedMb, entries, pathBytes, packedMb } = config.uploadLimits;
  return [
    'upload',
    `--repository=${upload.repository}`,
    `--digest=${upload.digest}`,
    ...given('--dockerfile', upload.dockerfile),
    ...(config.insecureRegistry ? ['--insecure-registry'] : []),
    `--max-packed-mb=${packedMb}`,
    `--max-unpacked-mb=${unpackedMb}`,
    `--max-entries=${entries}`,
    `--max-path-bytes=${pathBytes}`,
  ];
}

function sourceStep(build: BuildSpec, config: BuildConfig): V1Container {
  const { berthImage, sourceVariables, caConfigMap } = config;
  const ca: Record<string, string> = caConfigMap === null ? {} : { BERTH_BUILD_CA: `${CA}/ca.crt` };
  const { configPath, installCommand, buildCommand } = build;
  return step('source', {
    image: berthImage,
    args: [
      'build-step',
      ...sourceArguments(build, config),
      ...given('--config', configPath),
      ...given('--install-command', installCommand),
      ...given('--build-command', buildCommand),
      `--workspace=${WORKSPACE}`,
      `--credentials=${SOURCE_CREDENTIALS}`,
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
      { name: 'git', mountPath: SOURCE_CREDENTIALS, readOnly: true },
      ...caMounts(config),
    ],
  });
}

/** Escapes text of tenants, because Kubernetes expands `$(NAME)` in arguments. */
function literally(text: string): string {
  return text.replaceAll('$', '$$$$');
}

/** A BuildKit option with `key=value` pairs in CSV. A value with a comma or quote is quoted. */
function option(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([key, value]) => `${key}=${value}`)
    .map((field) => (/[",]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field))
    .join(',');
}

/** Gives each deployment its own `RUN --mount=type=cache`, which a shared daemon would otherwise share between builds. */
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
    // The image gets a tag, because the garbage collection of a registry removes untagged images.
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
      // The proxy for the commands of Dockerfiles. Proxy arguments change neither the image nor the cache key.
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
 * Rootless BuildKit creates user and mount namespaces, so seccomp and AppArmor must be unconfined, and newuidmap is
 * setuid. The Pod Security level *baseline* therefore rejects this container.
 */
const ROOTLESS_BUILDKIT: V1SecurityContext = {
  runAsNonRoot: true,
  allowPrivilegeEscalation: true,
  seccompProfile: { type: 'Unconfined' },
  appArmorProfile: { type: 'Unconfined' },
};

/**
 * Settings of buildctl-daemonless.sh. The script waits 0.1 s for its daemon, then 20 ms longer each time. In total,
 * this is 42 s with 60 retries, and 2 s with its default of 10 retries.
 */
const OWN_DAEMON: V1EnvVar[] = [
  { name: 'BUILDKITD_FLAGS', value: '--oci-worker-no-process-sandbox' },
  { name: 'BUILDCTL_CONNECT_RETRIES_MAX', value: '60' },
];

/** Arguments of the layer cache. A cache that cannot be read or written only makes a build slower. */
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

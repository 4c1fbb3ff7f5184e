import type { ObservedJob } from '../../../../../src/cluster/operator/builds/observed-build.ts';
import type { ObservedPod, ObservedResource } from '../../../../../src/cluster/operator/observed.ts';
import type { BuildConfig } from '../../../../../src/contract/render/build-config.ts';
import type { BuildSpec, BuildStatus } from '../../../../../src/contract/resource/build.ts';
import { managedDeploymentSpecSchema } from '../../../../../src/contract/resource/managed-deployment.ts';
import { buildName } from '../../../../../src/contract/resource/names.ts';
import { buildJob } from '../../../../../src/workloads/objects/build-job.ts';

/** Builds as they are seen in a cluster. */

export const NOW = new Date('2026-01-02T03:04:05Z');
export const COMMIT = 'c'.repeat(40);
export const DIGEST = `sha256:${'d'.repeat(64)}`;
export const REPOSITORY = 'registry.example/t/shop-1';

export const CONFIG: BuildConfig = {
  namespace: 'berth-builds',
  berthImage: 'berth:1',
  buildkitImage: 'moby/buildkit:rootless',
  buildkitHost: null,
  pullSecret: null,
  caConfigMap: null,
  proxy: null,
  timeoutSeconds: 1800,
  limits: { total: 10, perTenant: 2 },
  resources: { cpu: '1', memory: '2Gi' },
  workspace: '10Gi',
  cache: true,
  insecureRegistry: false,
  uploadLimits: { packedMb: 64, unpackedMb: 512, entries: 50_000, pathBytes: 1024 },
  keepSeconds: 3600,
  sourceVariables: {},
  nodeSelector: {},
  tolerations: [],
};

export const seconds = (more: number) => new Date(NOW.getTime() + more * 1000);
const time = (more: number) => seconds(more).toISOString();

export interface ResourceOptions {
  name?: string;
  /** Whose namespace it is in. */
  tenant?: string;
  /** As the resource says; default: the truth. */
  tenantId?: string;
  revisionId?: string;
  number?: number;
  status?: BuildStatus;
  spec?: object;
}

/** A custom resource that asks for a build. */
export function resourceWith(options: ResourceOptions = {}): ObservedResource {
  const {
    name = 'shop-1',
    tenant = 't',
    tenantId = tenant,
    revisionId = 'r1',
    number = 1,
    status,
    spec = {},
  } = options;
  const at = { namespace: `berth-${tenant}`, name };
  return {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { ...at, uid: `uid-${name}`, resourceVersion: '1', generation: 1 },
    spec: managedDeploymentSpecSchema.parse({
      deploymentId: `id-${name}`,
      tenantId,
      source: 'git_host',
      revision: { id: revisionId, number },
      build: {
        revisionId,
        number,
        repoUrl: 'https://git.example/shop/web',
        configPath: 'app.json',
        repository: REPOSITORY,
        secretName: buildName(at, revisionId),
      },
      ...spec,
    }),
    ...(status === undefined ? {} : { status: { build: status } }),
  } as ObservedResource;
}

export const buildOf = (resource: ObservedResource) => resource.spec.build as BuildSpec;

/** The Job of an attempt, with how it has ended, so many seconds after NOW. */
export function jobOf(
  resource: ObservedResource,
  more: { attempt?: number; end?: [type: string, reason: string, at?: number]; created?: number } = {},
): ObservedJob {
  const { attempt = 1, end, created = 0 } = more;
  const job = buildJob(resource, buildOf(resource), CONFIG, attempt);
  return {
    apiVersion: job.apiVersion,
    kind: job.kind,
    metadata: { ...job.metadata, uid: `job-${job.metadata.name}`, creationTimestamp: time(created) },
    status: {
      startTime: time(created),
      ...(end === undefined
        ? {}
        : {
            conditions: [
              { type: end[0], status: 'True', reason: end[1], lastTransitionTime: time(end[2] ?? 0) },
            ],
          }),
    },
  };
}

type States = Partial<Record<'source' | 'image' | 'result', object>>;

export const ended = (exitCode: number, message = '', reason?: string) => ({
  terminated: { exitCode, message, finishedAt: time(0), ...(reason === undefined ? {} : { reason }) },
});
export const runs = { running: {} };
export const succeeded = {
  source: ended(0),
  image: ended(0),
  result: ended(0, JSON.stringify({ commit: COMMIT, digest: DIGEST })),
};

/** The pod of a Job. */
export function podWith(
  job: ObservedJob,
  states: States,
  status: object = {},
  deleted?: number,
): ObservedPod {
  const of = (name: keyof States) =>
    states[name] === undefined ? [] : [{ name, restartCount: 0, state: states[name] }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${job.metadata.name}-x`,
      namespace: 'berth-builds',
      uid: `pod-${job.metadata.name}`,
      labels: { ...job.metadata.labels, 'batch.kubernetes.io/job-name': job.metadata.name },
      creationTimestamp: time(0),
      ...(deleted === undefined ? {} : { deletionTimestamp: time(deleted) }),
    },
    status: {
      phase: 'Running',
      initContainerStatuses: [...of('source'), ...of('image')],
      containerStatuses: of('result'),
      ...status,
    },
  } as ObservedPod;
}

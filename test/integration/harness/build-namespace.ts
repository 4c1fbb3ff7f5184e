/** A namespace of builds for a test file, and pods of builds that are driven by hand instead of by a node. */
import type { BuildConfig } from '../../../src/contract/render/build-config.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import type { BuildStep } from '../../../src/domain/builds/build.ts';
import { waitFor } from '../../cluster/wait.ts';
import { manifestObjects } from '../../installation/install.ts';
import { createNamespace, kubectlAsAdmin } from './environment.ts';

/** No node is for builds: their pods stay where tests drive them. */
export const NO_NODE = { 'berth.dev/driven-by': 'test' };

export const COMMIT = '0123456789'.repeat(4);
export const DIGEST = `sha256:${'ab'.repeat(32)}`;

/** Makes a namespace as manifests/ makes berth-builds, with the same rights. */
export async function createBuildNamespace(prefix: string): Promise<string> {
  const namespace = await createNamespace(`${prefix}-builds`);
  const items = manifestObjects('cloud').flatMap((object) => {
    const { name, namespace: where } = object.metadata;
    if (object.kind === 'Namespace' && name === 'berth-builds')
      return [{ ...object, metadata: { ...object.metadata, name: namespace } }];
    // How many may run there is for the tests to say.
    const isTaken = where === 'berth-builds' && object.kind !== 'ResourceQuota';
    return isTaken ? [{ ...object, metadata: { ...object.metadata, namespace } }] : [];
  });
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await kubectlAsAdmin(['apply', '--server-side', '--force-conflicts', '-f', '-'], list);
  return namespace;
}

/** Settings of builds there. */
export function buildConfig(namespace: string, more: Partial<BuildConfig> = {}): BuildConfig {
  return {
    namespace,
    berthImage: 'berth:test',
    buildkitImage: 'buildkit:test',
    buildkitHost: null,
    pullSecret: null,
    caConfigMap: null,
    proxy: null,
    timeoutSeconds: 600,
    limits: { total: 50, perTenant: 50 },
    resources: { cpu: '10m', memory: '16Mi' },
    workspace: '1Gi',
    cache: false,
    insecureRegistry: false,
    uploadLimits: { packedMb: 64, unpackedMb: 512, entries: 50_000, pathBytes: 1024 },
    keepSeconds: 600,
    sourceVariables: {},
    nodeSelector: NO_NODE,
    tolerations: [],
    ...more,
  };
}

interface Item {
  kind: string;
  metadata: {
    name: string;
    uid: string;
    creationTimestamp: string;
    deletionTimestamp?: string;
    labels: Record<string, string>;
  };
  status?: { conditions?: { type: string; status: string }[] };
}

/** How a container is: still running, or ended with what it wrote. */
export type StepState = 'runs' | { exitCode: number; message?: string; reason?: string };

export interface DrivenBuilds {
  jobs(): Promise<Item[]>;
  /** Names of Jobs that have not ended. */
  running(): Promise<string[]>;
  /** Waits for the Job of this name (any, without one) and its pod. */
  pod(job: string): Promise<string>;
  /** Sets the states of its containers, as a kubelet would. */
  set(job: string, steps: Partial<Record<BuildStep, StepState>>, pod?: object): Promise<void>;
  /** @param result more members of the result, such as the Procfile */
  succeed(job: string, result?: object): Promise<void>;
  kubectl(...args: string[]): Promise<string>;
}

const NOW = () => new Date().toISOString().replace(/\.\d+Z$/, 'Z');

function containerStatus(name: string, state: StepState) {
  const running = { running: { startedAt: NOW() } };
  const current =
    state === 'runs'
      ? running
      : { terminated: { startedAt: NOW(), finishedAt: NOW(), containerID: `test://${name}`, ...state } };
  return { name, image: 'test', imageID: 'test', ready: false, restartCount: 0, state: current };
}

/** Pods of a namespace of builds, driven by hand. */
export function drivenBuilds(namespace: string): DrivenBuilds {
  const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', namespace, ...args]);
  const list = async (kind: string): Promise<Item[]> =>
    (JSON.parse(await kubectl('get', kind, '-o', 'json')) as { items: Item[] }).items;
  const hasEnded = ({ status }: Item) =>
    status?.conditions?.some(
      ({ type, status: holds }) => holds === 'True' && /^(Complete|Failed)$/.test(type),
    );
  const driven: DrivenBuilds = {
    kubectl,
    jobs: () => list('jobs'),
    running: async () =>
      (await list('jobs')).filter((job) => !hasEnded(job)).map(({ metadata }) => metadata.name),
    pod: (job) =>
      waitFor(
        `the pod of ${job}`,
        async () =>
          (await list('pods')).find(
            ({ metadata }) =>
              metadata.labels['batch.kubernetes.io/job-name'] === job &&
              metadata.deletionTimestamp === undefined,
          )?.metadata.name,
        { timeoutMs: 60_000, intervalMs: 100 },
      ),
    async set(job, steps, pod = {}) {
      const name = await driven.pod(job);
      const of = (step: BuildStep) => (steps[step] === undefined ? [] : [containerStatus(step, steps[step])]);
      const failed = Object.values(steps).some((state) => state !== 'runs' && state.exitCode !== 0);
      const done = steps.result !== undefined && steps.result !== 'runs';
      const status = {
        phase: failed ? 'Failed' : done ? 'Succeeded' : 'Running',
        startTime: NOW(),
        initContainerStatuses: [...of('source'), ...of('image')],
        containerStatuses: of('result'),
        ...pod,
      };
      await kubectl(
        'patch',
        'pod',
        name,
        '--subresource=status',
        '--type=merge',
        '-p',
        JSON.stringify({ status }),
      );
    },
    succeed: (job, result = {}) =>
      driven.set(job, {
        source: { exitCode: 0 },
        image: { exitCode: 0 },
        result: { exitCode: 0, message: JSON.stringify({ commit: COMMIT, digest: DIGEST, ...result }) },
      }),
  };
  return driven;
}

/** Selector of what belongs to one custom resource in the namespace of builds. */
export const ofApp = (name: string) => `${LABELS.instance}=${name}`;

/** The simulated node for build Jobs of a cluster: its process, and the settings that send builds to it. */
import { writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildNodeOptions, NODE_OF_BUILDS, READY } from '../cluster/build-node/interface.ts';
import type { LocalBuildkit } from '../cluster/images/buildkit.ts';
import type { KubectlAccess } from '../cluster/kubectl.ts';
import { assertRunning, logPath, startProcess, stopProcess } from '../cluster/processes.ts';
import { waitFor } from '../cluster/wait.ts';
import { compileCache } from './berth-process.ts';
import { logLines, logSize } from './log-file.ts';

const program = fileURLToPath(new URL('../cluster/build-node/main.ts', import.meta.url));
const BASE_PATH = '/usr/local/bin:/usr/bin:/bin';

export interface BuildNodeToStart {
  readonly stateDir: string;
  /** Name of the Node: one for each build node of a cluster. */
  readonly node: string;
  /** For `buildctl`. Absent: the containers do not run it. */
  readonly buildkit?: Pick<LocalBuildkit, 'buildctlPath'>;
  /** Certificate authorities of git hosts, PEM. */
  readonly ca?: string;
}

export interface BuildNode {
  readonly logPath: string;
  /** Stops it with SIGTERM, or with another signal. Resolves when the process has ended. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Folder with the volumes and logs of the pods of a build node. */
export const podsFolder = (stateDir: string, node: string) => join(stateDir, `${node}-pods`);

/**
 * Starts the node, and waits until it is registered. Berth must be installed.
 * @throws ProcessDiedError with the end of its log if it ends before
 */
export async function startBuildNode(
  access: KubectlAccess,
  { stateDir, node, buildkit, ca }: BuildNodeToStart,
): Promise<BuildNode> {
  const caFile = join(stateDir, `${node}-ca.pem`);
  if (ca !== undefined) writeFileSync(caFile, ca);
  const options: BuildNodeOptions = {
    kubeconfig: access.kubeconfigPath,
    node,
    namespace: 'berth-builds',
    folder: podsFolder(stateDir, node),
    environment: {
      PATH: buildkit === undefined ? BASE_PATH : [dirname(buildkit.buildctlPath), BASE_PATH].join(delimiter),
      LANG: 'C.UTF-8',
      ...(ca === undefined ? {} : { BERTH_BUILD_CA: caFile }),
    },
  };
  const log = logPath(stateDir, node);
  const from = logSize(log);
  await startProcess(stateDir, {
    name: node,
    command: process.execPath,
    args: [program, JSON.stringify(options)],
    env: { ...compileCache() },
  });
  await waitFor(
    `the build node ${node} to be ready`,
    async () => logLines(log, from).find((line) => line['msg'] === READY),
    { timeoutMs: 60_000, giveUpIf: () => assertRunning(stateDir, [node]) },
  );
  return {
    logPath: log,
    stop: (signal) => stopProcess(stateDir, node, { signal, timeoutMs: 25_000 }),
  };
}

/** Settings of the operator that send builds to this node and no other. */
export function settingsForBuildNode(
  node: string,
  buildkit: Pick<LocalBuildkit, 'address'>,
): Record<string, string> {
  const { label, taint } = NODE_OF_BUILDS;
  return {
    BERTH_BUILD_NODE_SELECTOR: `${label}=true,kubernetes.io/hostname=${node}`,
    BERTH_BUILD_TOLERATIONS: `${taint.key}:${taint.effect}`,
    BERTH_BUILD_BUILDKIT_HOST: buildkit.address,
    BERTH_BUILD_BUILDKIT_SHARED: 'true',
    BERTH_BUILD_INSECURE_REGISTRY: 'true',
    // The tests may run on a small machine, in parallel.
    BERTH_BUILD_CPU: '100m',
    BERTH_BUILD_MEMORY: '128Mi',
  };
}

/** The local builder beside a cluster: its rights, its process, and what the operator is told of it. */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODE_OF_BUILDS } from '../../src/contract/resource/names.ts';
import type { LocalBuildkit } from '../cluster/images/buildkit.ts';
import { type KubectlAccess, kubectl, writeServiceAccountKubeconfig } from '../cluster/kubectl.ts';
import { type BerthProcess, startBerth } from './berth-process.ts';
import { BERTH_NAMESPACE } from './install.ts';

const rights = fileURLToPath(new URL('../../manifests/local-builder/rbac.yaml', import.meta.url));

export interface LocalBuilderOptions {
  readonly stateDir: string;
  /** Name of its Node: one for each builder of a cluster. */
  readonly node: string;
  /** For `buildctl`; absent: what it runs needs none. */
  readonly buildkit?: Pick<LocalBuildkit, 'buildctlPath'>;
  /** Authorities of git hosts, PEM. */
  readonly ca?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

/** Starts `berth builder` with the rights of manifests/local-builder/. Berth must be installed. */
export async function startLocalBuilder(
  access: KubectlAccess,
  options: LocalBuilderOptions,
): Promise<BerthProcess> {
  const { stateDir, node, buildkit, ca } = options;
  await kubectl(access, ['apply', '--server-side', '-f', rights]);
  const kubeconfig = join(stateDir, `${node}.kubeconfig`);
  const account = { namespace: BERTH_NAMESPACE, name: 'berth-builder' };
  await writeServiceAccountKubeconfig(access, account, kubeconfig);
  const caFile = join(stateDir, `${node}-ca.pem`);
  if (ca !== undefined) writeFileSync(caFile, ca);
  return startBerth({
    stateDir,
    role: 'builder',
    name: node,
    settings: {
      BERTH_METRICS_PORT: '0',
      BERTH_BUILDER_UNSANDBOXED: 'true',
      BERTH_BUILDER_KUBECONFIG: kubeconfig,
      BERTH_BUILDER_NODE: node,
      BERTH_BUILDER_FOLDER: join(stateDir, `${node}-pods`),
      ...(buildkit === undefined ? {} : { BERTH_BUILDER_PATH: dirname(buildkit.buildctlPath) }),
      ...(ca === undefined ? {} : { BERTH_BUILD_CA: caFile }),
      ...options.settings,
    },
  });
}

/** Settings of the operator, so that builds go to the node of this builder and no other. */
export function settingsForBuilder(
  node: string,
  buildkit: Pick<LocalBuildkit, 'address'>,
): Record<string, string> {
  const { label, taint } = NODE_OF_BUILDS;
  return {
    BERTH_BUILD_NODE_SELECTOR: `${label}=true,kubernetes.io/hostname=${node}`,
    BERTH_BUILD_TOLERATIONS: `${taint.key}:${taint.effect}`,
    BERTH_BUILD_BUILDKIT_HOST: buildkit.address,
    BERTH_BUILD_INSECURE_REGISTRY: 'true',
    // The tests may run on a small machine, beside one another.
    BERTH_BUILD_CPU: '100m',
    BERTH_BUILD_MEMORY: '128Mi',
  };
}

import { parseArgs } from 'node:util';
import { clusterOptions, kubernetesVersion } from './cluster-access.ts';
import type { Config } from './config.ts';
import type { Logger } from './domain/logger.ts';
import { createKubeClient } from './kube/client.ts';
import type { FieldChange } from './operator/template-difference.ts';
import { type DeploymentPreview, previewUpgrade } from './operator/upgrade-preview.ts';

/** `berth upgrade-preview`: what this version would change in the pods of each deployment, and when. */

export const UPGRADE_PREVIEW_HELP = `usage: berth upgrade-preview [--json]
Lists, for each deployment of the cluster, what this version would render otherwise than the version whose pods run. An
upgrade restarts nothing: pods are made from templates stored when their revision was new. What is listed happens at a
deployment's next revision; for database and cache, once their own settings change. Run the new version, before it is
installed, with the settings of the operator and a kubeconfig that has its rights. Changes nothing. Lines that begin with
"with the upgrade" tell what changes at once.

  --json   for programs: {"version", "changed", "deployments": [{"namespace", "name", "revision", "changes", "problem", "identity"}]}

Exit code: 0 when nothing would change, 2 when something would (or the options are wrong: then nothing is printed to
standard output), 1 when it failed or a deployment cannot be told of.`;

const shown = (value: unknown) => (value === undefined ? '(none)' : JSON.stringify(value));
const lineOf = ({ path, from, to }: FieldChange) => `    ${path}: ${shown(from)} → ${shown(to)}`;

function blockOf(preview: DeploymentPreview): string[] {
  const { namespace, name, revision, changes, problem, identity = [] } = preview;
  if (problem !== undefined) return [`${namespace}/${name}: cannot be told: ${problem}`];
  if (changes.length === 0 && identity.length === 0) return [];
  return [
    `${namespace}/${name}${revision === null ? '' : ` (revision ${revision})`}`,
    ...identity.map((text) => `  with the upgrade: ${text}`),
    ...changes.flatMap(({ workload, fields }) => [`  ${workload}`, ...fields.map(lineOf)]),
  ];
}

function asText(version: string, all: readonly DeploymentPreview[], changed: number): string {
  const last = `${changed} of ${all.length} deployments would change at their next revision under ${version}; none restarts before.`;
  return [...all.flatMap(blockOf), last].join('\n');
}

/**
 * Prints the preview.
 * @returns the exit code
 * @throws KubeError, Error when the cluster cannot be read
 */
export async function upgradePreviewCommand(
  config: Config,
  logger: Logger,
  args: readonly string[],
  version: string,
): Promise<0 | 1 | 2> {
  const { values } = parseArgs({ args: [...args], options: { json: { type: 'boolean', default: false } } });
  const client = await createKubeClient(
    clusterOptions(config, config.operatorKubeconfig, `berth-upgrade-preview/${version}`),
  );
  try {
    const signal = AbortSignal.timeout(10_000);
    const rendering = {
      ...config.rendering,
      kubernetesVersion: await kubernetesVersion(client, logger, signal),
    };
    const deployments = await previewUpgrade(client, config.namespaces, rendering);
    const changed = deployments.filter(({ changes }) => changes.length > 0).length;
    const isAffected = deployments.some(({ identity = [] }) => identity.length > 0);
    console.log(
      values.json
        ? JSON.stringify({ version, changed, deployments }, null, 2)
        : asText(version, deployments, changed),
    );
    if (deployments.some(({ problem }) => problem !== undefined)) return 1;
    return changed > 0 || isAffected ? 2 : 0;
  } finally {
    await client.close();
  }
}

import { parseArgs } from 'node:util';
import { clusterOptions, clusterVersion } from '../app/cluster-access.ts';
import { loadPolicy, parsePolicy } from '../app/policy-file.ts';
import { createKubeClient } from '../cluster/kube/client/client.ts';
import type { RefusedPart } from '../cluster/operator/access/refused-parts.ts';
import type { FieldChange } from '../cluster/operator/decide/template-difference.ts';
import { type DeploymentPreview, previewUpgrade } from '../cluster/operator/upgrade-preview.ts';
import type { Config } from '../config/index.ts';
import type { Logger } from '../domain/core/logger.ts';
import { hostOf } from '../domain/net/url-host.ts';
import { loadChartValues } from './chart-values-file.ts';

/** `berth upgrade-preview`: what this version would change in the pods of each deployment, and when. */

export const UPGRADE_PREVIEW_HELP = `usage: berth upgrade-preview [--json] [--values FILE]...
Lists, for each deployment of the cluster, the differences between the pods of this version and the running pods. An
upgrade restarts nothing, because pods are created from the templates that were stored with their revision. The listed
changes take effect at the next revision of the deployment, and for database and cache when their settings change. Lines
that begin with "with the upgrade" take effect at once.
Lines that begin with "would be refused" name each field that this version rejects, and the reason. Pods with a rejected
field keep running. This version rejects the field when it changes, or when a new revision is created.
Run the new version before you install it, with the settings of the operator and a kubeconfig with its rights. The command
changes nothing.

  --values FILE  read the values of the Helm chart, as helm get values -o yaml prints them: the policy file and the
           namespaces of rbac.listenerNamespaces. May be given several times; a later file wins
  --json   print JSON: {"version", "changed", "refused", "deployments": [{"namespace", "name", "revision", "changes",
           "refused": [{"field", "why", "until"}], "identity", "problem"}]}

Exit code: 0 if nothing would change or be rejected. 2 if something would, or if the options are wrong (then standard
output is empty). 1 if the command failed or a deployment cannot be read.`;

const shown = (value: unknown) => (value === undefined ? '(none)' : JSON.stringify(value));
const lineOf = ({ path, from, to }: FieldChange) => `    ${path}: ${shown(from)} → ${shown(to)}`;

const STAYS: Readonly<Record<RefusedPart['until'], string>> = {
  'field changes': 'running pods do not change until the field changes',
  'next revision': 'running pods do not change until the next revision',
  upgrade: 'rejected at once',
};
const refusalOf = ({ field, why, until }: RefusedPart) =>
  `  would be refused: ${field}: ${why} (${STAYS[until]})`;

function blockOf(preview: DeploymentPreview): string[] {
  const { namespace, name, revision, changes, refused, problem, identity = [] } = preview;
  if (problem !== undefined) return [`${namespace}/${name}: cannot be previewed: ${problem}`];
  if (changes.length + refused.length + identity.length === 0) return [];
  return [
    `${namespace}/${name}${revision === null ? '' : ` (revision ${revision})`}`,
    ...identity.map((text) => `  with the upgrade: ${text}`),
    ...refused.map(refusalOf),
    ...changes.flatMap(({ workload, fields }) => [`  ${workload}`, ...fields.map(lineOf)]),
  ];
}

function asText(
  version: string,
  all: readonly DeploymentPreview[],
  changed: number,
  refused: number,
): string {
  const last =
    `${changed} of ${all.length} deployments would change at their next revision with ${version}. No deployment ` +
    `restarts before its next revision.`;
  const rules =
    refused === 0
      ? []
      : [`${refused} of ${all.length} have fields that ${version} rejects in new revisions.`];
  const policies =
    'NetworkPolicies change with the upgrade itself. A change of NetworkPolicies restarts no pods.';
  return [...all.flatMap(blockOf), last, policies, ...rules].join('\n');
}

const OPTIONS = {
  json: { type: 'boolean', default: false },
  values: { type: 'string', multiple: true, default: [] as string[] },
} as const;

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
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  const chart = loadChartValues(values.values);
  const client = await createKubeClient(
    clusterOptions(config, config.operatorKubeconfig, `berth-upgrade-preview/${version}`),
  );
  try {
    const signal = AbortSignal.timeout(10_000);
    const rendering = {
      ...config.rendering,
      kubernetesVersion: await clusterVersion(client, logger, signal),
    };
    const rules = {
      policy:
        chart.policy === undefined
          ? loadPolicy(config)
          : parsePolicy(config, chart.policy, '--values: policy'),
      platform: { own: hostOf(config.publicUrl), others: config.platformHosts },
      allowsPrivateHosts: config.gitAllowPrivate,
      listenerNamespaces: chart.admissionPolicy ? chart.listenerNamespaces : null,
    };
    const deployments = await previewUpgrade(client, config.namespaces, rendering, rules);
    const changed = deployments.filter(({ changes }) => changes.length > 0).length;
    const refused = deployments.filter((each) => each.refused.length > 0).length;
    const isAffected = deployments.some(({ identity = [] }) => identity.length > 0);
    console.log(
      values.json
        ? JSON.stringify({ version, changed, refused, deployments }, null, 2)
        : asText(version, deployments, changed, refused),
    );
    if (deployments.some(({ problem }) => problem !== undefined)) return 1;
    return changed + refused > 0 || isAffected ? 2 : 0;
  } finally {
    await client.close();
  }
}

import { clusterOptions, clusterVersion } from '../../app/cluster-access.ts';
import { loadPolicy, parsePolicy } from '../../app/policy/policy-file.ts';
import { createKubeClient } from '../../cluster/kube/client/client.ts';
import type { RefusedPart } from '../../cluster/operator/access/refused-parts.ts';
import type { FieldChange } from '../../cluster/operator/decide/template-difference.ts';
import { type DeploymentPreview, previewUpgrade } from '../../cluster/operator/upgrade-preview.ts';
import { hostOf } from '../../domain/net/url-host.ts';
import { type Format, printed } from '../command/output.ts';
import { loadChartValues } from './chart-values-file.ts';
import type { AdminSession } from './session.ts';

/** `berth upgrade-preview`: what this version would change in the pods of each deployment, and when. */

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
  if (!isAffected(preview)) return [];
  return [
    `${namespace}/${name}${revision === null ? '' : ` (revision ${revision})`}`,
    ...identity.map((text) => `  with the upgrade: ${text}`),
    ...refused.map(refusalOf),
    ...changes.flatMap(({ workload, fields }) => [`  ${workload}`, ...fields.map(lineOf)]),
  ];
}

const isAffected = ({ changes, refused, identity = [] }: DeploymentPreview): boolean =>
  changes.length + refused.length + identity.length > 0;

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

/**
 * Prints the preview.
 * @returns the exit code
 * @throws KubeError, Error when the cluster cannot be read
 */
export async function upgradePreviewCommand(
  { config, logger }: AdminSession,
  { values = [], output }: { values?: readonly string[]; output: Format },
  version: string,
): Promise<0 | 1 | 2> {
  const chart = loadChartValues(values);
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
    await printed(
      output,
      { version, changed, refused, deployments },
      {
        table: () => asText(version, deployments, changed, refused),
        names: () => deployments.filter(isAffected).map(({ namespace, name }) => `${namespace}/${name}`),
      },
    );
    if (deployments.some(({ problem }) => problem !== undefined)) return 1;
    return deployments.some(isAffected) ? 2 : 0;
  } finally {
    await client.close();
  }
}

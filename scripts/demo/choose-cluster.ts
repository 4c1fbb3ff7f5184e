/** Which cluster the demo uses (docs/decisions/0098). */
import { quoted } from '../../src/cli/client/table.ts';
import type { ReachableContext } from './kube-context.ts';

/** What the user has named on the command line. */
export interface ClusterOptions {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly local: boolean;
  readonly realNode: boolean;
}

/** What decides if the user has named no cluster. */
export interface Situation {
  /** The current context of the user's kubeconfig, if its API server responds. */
  readonly context: ReachableContext | null;
  /** Programs that a local cluster needs and that must be built. */
  readonly missing: readonly string[];
  /** The estimated time of a build, such as "about 7 min". */
  readonly buildTime: string;
}

/** `stop`: the user has to choose first. `go on`: the demo runs, after it has printed the hint. */
export type Choice =
  | { readonly kind: 'stop'; readonly message: string }
  | { readonly kind: 'go on'; readonly hint: string | null };

/** Whether the cluster belongs to the user. It stays, so the demo removes its deployments from it. */
export function isGivenCluster({
  kubeconfig,
  context,
}: Pick<ClusterOptions, 'kubeconfig' | 'context'>): boolean {
  return kubeconfig !== undefined || context !== undefined;
}

/** Whether the options leave open which cluster to use. */
export function isOpen(options: ClusterOptions): boolean {
  return !isGivenCluster(options) && !options.local && !options.realNode;
}

/**
 * Decides for options that leave open which cluster to use. The demo never changes a cluster that the user has not named, and
 * does not start a build of minutes if a cluster responds.
 */
export function chooseCluster({ context, missing, buildTime }: Situation): Choice {
  if (missing.length === 0) {
    const hint = context && `To use the current context ${context.name} instead: ${commandFor(context)}`;
    return { kind: 'go on', hint };
  }
  if (context === null) {
    return { kind: 'go on', hint: `Needs a build of ${missing.join(', ')}, once (${buildTime}).` };
  }
  return { kind: 'stop', message: waysOn(context, missing, buildTime) };
}

const commandFor = ({ name }: ReachableContext) => `npm run demo -- --context ${quoted(name)}`;

function waysOn(context: ReachableContext, missing: readonly string[], buildTime: string): string {
  return `The current context ${context.name} of your kubeconfig responds (${context.server}).
The demo has not changed it, and has built nothing. Choose a cluster:

  ${commandFor(context)}
      uses this cluster. It needs administrator rights. The demo installs the custom resource, the accounts and the roles of
      Berth, and creates sample deployments in the namespace berth-demo. Berth itself runs on this machine. Ctrl-C removes
      the deployments, and prints the commands that remove the rest. A cluster that already runs Berth is refused.

  npm run demo -- --local
      starts a local Kubernetes instead, and does not use your kubeconfig. It first builds
      ${missing.join(', ')}, once (${buildTime}).`;
}

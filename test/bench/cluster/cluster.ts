/** The Kubernetes of a run of benches. */
import { type LocalCluster, startCluster } from '../../cluster/cluster.ts';
import { componentSpec } from '../../cluster/components.ts';
import { componentNames, readRecord } from '../../cluster/layout.ts';
import { type BenchContext, sharedThings } from '../bench.ts';

/** Checkouts that are compared share nothing: not their custom resources, nor, where it is one checkout twice, what it runs. */
export const sideOf = ({ root, side }: BenchContext) => (side === undefined ? root : `${root}, ${side}`);

const nameOf = (context: BenchContext) => `cluster of ${sideOf(context)}`;

/**
 * The cluster that all benches of a checkout share; etcd waits for the disk.
 * @param without controllers that do not run in it
 */
export const clusterOf = (context: BenchContext, without?: readonly string[]): Promise<LocalCluster> =>
  context.shared(nameOf(context), () => {
    context.log('starting Kubernetes');
    return startCluster({ log: context.log, ...(without && { without }) });
  });

/** A context whose cluster is one of its own, until `stop`; what else a run shares it shares too. */
export function ownCluster(context: BenchContext): { context: BenchContext; stop(): Promise<void> } {
  const own = sharedThings();
  const shared: BenchContext['shared'] = (name, start) =>
    (name === nameOf(context) ? own : context).shared(name, start);
  return { context: { ...context, shared }, stop: () => own.stop() };
}

/** Flags that bound how fast controllers work, and which of them do. */
const RATES = /qps|burst|concurrent|controllers=/;

/** How the cluster differs from one with defaults: its controllers are as fast as they can be, and some may be missing. */
export function clusterNote({ stateDir }: LocalCluster): string {
  const record = readRecord(stateDir);
  if (record === undefined) throw new Error(`failed to describe the cluster: there is none in ${stateDir}`);
  const { args } = componentSpec(stateDir, record, componentNames.controllerManager);
  const flags = args.filter((arg) => RATES.test(arg)).map((arg) => `\`${arg}\``);
  return `kube-controller-manager with ${flags.join(' ')} (defaults: 20 calls/s, 5 workers); kube-scheduler with 500 calls/s; pods and nodes are kwok's; etcd ${record.fsync ? 'waits' : 'does not wait'} for the disk. Berth with its defaults, but that images are not looked up at a registry (\`BERTH_RESOLVE_IMAGES\`), pods count after one second (\`BERTH_MIN_READY_SECONDS\`), and keys have no rate limit; one namespace.`;
}

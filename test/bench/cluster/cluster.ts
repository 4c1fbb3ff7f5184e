/** The Kubernetes clusters of a run of benches. */
import { type LocalCluster, startCluster } from '../../cluster/cluster.ts';
import { componentSpec } from '../../cluster/components.ts';
import { componentNames, readRecord } from '../../cluster/layout.ts';
import { type BenchContext, sharedThings } from '../bench.ts';

/** Compared checkouts share nothing, neither custom resources nor, if both are the same folder, running components. */
export const sideOf = ({ root, side }: BenchContext) => (side === undefined ? root : `${root}, ${side}`);

const nameOf = (context: BenchContext) => `cluster of ${sideOf(context)}`;

/**
 * The cluster that all benches of a checkout share. etcd waits for the disk.
 * @param without names of controllers that do not run
 */
export const clusterOf = (context: BenchContext, without?: readonly string[]): Promise<LocalCluster> =>
  context.shared(nameOf(context), () => {
    context.log('starting Kubernetes');
    return startCluster({ log: context.log, ...(without && { without }) });
  });

/** A context with its own cluster, until `stop`. Other resources are still shared. */
export function ownCluster(context: BenchContext): { context: BenchContext; stop(): Promise<void> } {
  const own = sharedThings();
  const shared: BenchContext['shared'] = (name, start) =>
    (name === nameOf(context) ? own : context).shared(name, start);
  return { context: { ...context, shared }, stop: () => own.stop() };
}

/** Flags that limit the speed of controllers or select them. */
const RATES = /qps|burst|concurrent|controllers=/;

/** How the cluster differs from the defaults: its controllers are as fast as possible, and some may not run. */
export function clusterNote({ stateDir }: LocalCluster): string {
  const record = readRecord(stateDir);
  if (record === undefined) throw new Error(`failed to describe the cluster: there is none in ${stateDir}`);
  const { args } = componentSpec(stateDir, record, componentNames.controllerManager);
  const flags = args.filter((arg) => RATES.test(arg)).map((arg) => `\`${arg}\``);
  return `kube-controller-manager with ${flags.join(' ')} (defaults: 20 calls/s, 5 workers); kube-scheduler with 500 calls/s; pods and nodes are kwok's; etcd ${record.fsync ? 'waits' : 'does not wait'} for the disk. Berth with its defaults, except that image digests are not resolved (\`BERTH_RESOLVE_IMAGES\`), pods count as ready after one second (\`BERTH_MIN_READY_SECONDS\`), and keys have no rate limit; one namespace.`;
}

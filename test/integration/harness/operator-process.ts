/** An operator in a process of its own; see forkOperator. Ends in order on SIGTERM. */
import { createKubeClient } from '../../../src/cluster/kube/client/client.ts';
import { runOperator } from '../../../src/cluster/operator/operator.ts';
import type { OperatorSettings } from './operator.ts';

const settings = JSON.parse(process.argv[2] ?? '{}') as OperatorSettings;
const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort());
// The test has ended without stopping us.
const abandoned = () => process.exit(1);
process.once('disconnect', abandoned);
const client = await createKubeClient({
  kubeconfigPath: settings.kubeconfigPath,
  userAgent: `berth-test/${settings.identity}`,
  requestTimeoutMs: 10_000,
});
await runOperator(
  {
    client,
    config: settings.config,
    builds: settings.builds,
    images: settings.images,
    ...(settings.patience === undefined ? {} : { patience: settings.patience }),
    namespaces: [settings.namespace, ...(settings.moreNamespaces ?? [])],
    identity: settings.identity,
    lease: settings.lease,
    leaderElection: { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryPeriodMs: 500 },
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: console.error },
    hooks: { onState: (state) => process.send?.(state) },
  },
  stopping.signal,
);
await client.close();
process.off('disconnect', abandoned);
process.disconnect();

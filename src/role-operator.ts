import { clusterOptions, kubernetesVersion } from './cluster-access.ts';
import { createKubeClient } from './kube/client.ts';
import { type OperatorState, runOperator } from './operator/operator.ts';
import { type RoleContext, type RunningRole, untilFailure } from './role.ts';

/** What each state means for a probe; a candidate is ready: it waits to take over. */
const NOT_READY: Partial<Record<OperatorState, string>> = {
  starting: 'the operator is starting',
  syncing: 'the operator is filling its caches',
  stopped: 'the operator has stopped',
};

/** Name of the Lease that the operators of a cluster share. */
const LEASE = 'berth-operator';

/**
 * Starts the operator; it seeks leadership in the background.
 * @throws KubeError, Error when the cluster cannot be reached with what the configuration says
 */
export async function startOperator({ config, logger, version }: RoleContext): Promise<RunningRole> {
  const client = await createKubeClient(
    clusterOptions(config, config.operatorKubeconfig, `berth-operator/${version}`),
  );
  const stopping = new AbortController();
  let state: OperatorState = 'starting';
  const ended = (async () => {
    const rendering = {
      ...config.rendering,
      kubernetesVersion: await kubernetesVersion(client, logger, stopping.signal),
    };
    await runOperator(
      {
        client,
        config: rendering,
        namespaces: config.namespaces,
        identity: config.identity,
        lease: { namespace: config.namespace, name: LEASE },
        logger,
        hooks: {
          onState: (now) => {
            state = now;
          },
        },
      },
      stopping.signal,
    );
  })();
  return {
    failed: untilFailure(ended),
    notReady: () => NOT_READY[state] ?? null,
    stop: async () => {
      stopping.abort();
      await ended.catch(() => undefined);
      await client.close();
    },
  };
}

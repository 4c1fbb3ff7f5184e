import { clusterOptions, kubernetesVersion } from './cluster-access.ts';
import { createKubeClient, type KubeClient } from './kube/client.ts';
import { type OperatorState, runOperator } from './operator/operator.ts';
import { type RoleContext, type RunningRole, untilFailure } from './role.ts';

/** What each state means for a probe; a candidate is ready while it reaches the cluster: it waits to take over. */
const NOT_READY: Partial<Record<OperatorState, string>> = {
  starting: 'the operator is starting',
  syncing: 'the operator is filling its caches',
  stopped: 'the operator has stopped',
};

/** Name of the Lease that the operators of a cluster share. */
const LEASE = 'berth-operator';

/** A candidate that nobody elects says nothing of its cluster: that is asked, at most this often. */
const PROBE_EVERY_MS = 5_000;
const PROBE_TIMEOUT_MS = 3_000;

/** Why the cluster does not answer; null: it does. Answers of a moment ago count. */
function clusterProbe(client: Pick<KubeClient, 'serverVersion'>): () => Promise<string | null> {
  let asked: { readonly at: number; readonly answer: Promise<string | null> } | undefined;
  return () => {
    const now = performance.now();
    if (asked === undefined || now - asked.at >= PROBE_EVERY_MS) {
      const answer = client.serverVersion({ timeoutMs: PROBE_TIMEOUT_MS }).then(
        () => null,
        () => 'the cluster does not answer',
      );
      asked = { at: now, answer };
    }
    return asked.answer;
  };
}

/**
 * Starts the operator; it seeks leadership in the background.
 * @throws KubeError, Error when the cluster cannot be reached with what the configuration says
 */
export async function startOperator({ config, logger, version }: RoleContext): Promise<RunningRole> {
  const client = await createKubeClient(
    clusterOptions(config, config.operatorKubeconfig, `berth-operator/${version}`),
  );
  const probe = clusterProbe(client);
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
    notReady: () => NOT_READY[state] ?? (state === 'candidate' ? probe() : null),
    stop: async () => {
      stopping.abort();
      await ended.catch(() => undefined);
      await client.close();
    },
  };
}

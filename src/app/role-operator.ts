import { createKubeClient } from '../cluster/kube/client/client.ts';
import { leaseProbe } from '../cluster/kube/leader/lease-probe.ts';
import { type OperatorHooks, type OperatorState, runOperator } from '../cluster/operator/operator.ts';
import type { Config } from '../config/index.ts';
import type { BuildConfig } from '../contract/render/build-config.ts';
import { OPERATOR_LEASE } from '../contract/resource/names.ts';
import { hostOf } from '../domain/net/url-host.ts';
import type { Policy } from '../domain/policy/policy.ts';
import type { ClusterMetrics } from '../metrics/cluster.ts';
import { createDnsClient } from '../outbound/dns-client.ts';
import { clusterOptions, clusterVersion } from './cluster-access.ts';
import { loadPolicy } from './policy/policy-file.ts';
import { type RoleContext, type RunningRole, untilFailure } from './role.ts';

/** Why a probe fails in each state. A candidate is ready while it reaches the cluster, because it can take over. */
const NOT_READY: Partial<Record<OperatorState, string>> = {
  starting: 'the operator is starting',
  syncing: 'the operator is filling its caches',
  stopped: 'the operator has stopped',
};

/** States in which this process is the leader. */
const LEADS: ReadonlySet<OperatorState> = new Set(['syncing', 'leading']);

function operatorHooks(metrics: ClusterMetrics): OperatorHooks {
  return {
    onReconcile: metrics.reconciles('manageddeployment'),
    onBuilds: metrics.reconciles('build'),
    onAction: ({ kind }) => metrics.action(kind),
    onTerm: ({ queue, builds, watches }) => {
      metrics.queue('manageddeployment', queue);
      if (builds !== undefined) metrics.queue('build', builds);
      metrics.watches('operator', watches);
    },
  };
}

/** The build settings. The image of Berth defaults to the running version. */
function buildsOf({ builds }: Config, { uploads }: Policy, version: string): BuildConfig | undefined {
  if (builds === null) return undefined;
  const { packed_mb: packedMb, unpacked_mb: unpackedMb, entries, path_bytes: pathBytes } = uploads;
  const uploadLimits = { packedMb, unpackedMb, entries, pathBytes };
  return { ...builds, berthImage: builds.berthImage ?? `berth:${version}`, uploadLimits };
}

/**
 * Starts the operator. The operator acquires leadership in the background.
 * @throws KubeError, Error when the cluster cannot be reached with the configuration; ConfigError for an invalid policy
 */
export async function startOperator(context: RoleContext): Promise<RunningRole> {
  const { config, logger, version } = context;
  const metrics = context.metrics.cluster();
  const policy = loadPolicy(config);
  const client = await createKubeClient({
    ...clusterOptions(config, config.operatorKubeconfig, `berth-operator/${version}`),
    observer: metrics.requests('operator'),
  });
  const lease = { namespace: config.namespace, name: OPERATOR_LEASE };
  // A candidate makes no other calls to its cluster, so the readiness probe reads the Lease.
  const probe = leaseProbe(client, lease);
  const stopping = new AbortController();
  let state: OperatorState = 'starting';
  const ended = (async () => {
    const rendering = {
      ...config.rendering,
      kubernetesVersion: await clusterVersion(client, logger, stopping.signal),
    };
    await runOperator(
      {
        client,
        config: rendering,
        policy,
        ownHost: hostOf(config.publicUrl) ?? undefined,
        platformHosts: config.platformHosts,
        appDomain: config.appDomain,
        dns: createDnsClient({ servers: config.dnsServers }),
        builds: buildsOf(config, policy, version),
        images: config.images ?? undefined,
        secretPollMs: config.secretPollSeconds * 1000,
        namespaces: config.namespaces,
        identity: config.identity,
        lease,
        logger,
        ...(context.span === undefined ? {} : { span: context.span }),
        hooks: {
          ...operatorHooks(metrics),
          onState: (now) => {
            state = now;
            metrics.leading('operator', LEADS.has(now));
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

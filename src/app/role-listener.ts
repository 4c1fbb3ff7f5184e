import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKubeClient } from '../cluster/kube/client/client.ts';
import { runListener } from '../cluster/listener/listener.ts';
import { type ClosableTransport, httpTransport } from '../cluster/listener/session/http-transport.ts';
import { createHubClient, type HubClient, HubError } from '../cluster/listener/session/hub-client.ts';
import { inProcessTransport } from '../cluster/listener/session/hub-transport.ts';
import { type Config, ConfigError } from '../config/index.ts';
import { clusterOptions } from './cluster-access.ts';
import { type RoleContext, type RunningRole, untilFailure } from './role.ts';
import type { ApiRole } from './role-api.ts';

/**
 * Longest wait for the first response of a hub in the same process. A cluster that does not respond delays the response
 * of the hub.
 */
const FIRST_ANSWER_MS = 10_000;

/** The transport to a hub over HTTP, from the settings. */
function remoteHub({ hubUrl, listenerKey, hubCaFile, clusterEnvironment }: Config): ClosableTransport {
  if (hubUrl === null || listenerKey === null) {
    throw new Error(
      'failed to start the listener: it does not know its hub; next: set BERTH_HUB_URL to the URL of the API and BERTH_LISTENER_KEY to a key with the scope listeners:run (berth keys create --platform --name listener)',
    );
  }
  if (hubCaFile !== null) {
    try {
      readFileSync(hubCaFile);
    } catch (error) {
      throw new ConfigError([`BERTH_HUB_CA: ${hubCaFile} cannot be read: ${String(error)}`]);
    }
  }
  return httpTransport({ hubUrl, apiKey: listenerKey, caFile: hubCaFile, environment: clusterEnvironment });
}

/** Calls the API directly if it runs in this process, otherwise over HTTP. */
function transportOf(config: Config, api: ApiRole | null): ClosableTransport {
  if (api === null) return remoteHub(config);
  return { transport: inProcessTransport(api.inject, api.internalKey), close: () => undefined };
}

/** Derives from the lease calls whether the listener is ready. A listener without the lease is ready too: it is a standby. */
function watchHub(hub: HubClient): {
  hub: HubClient;
  onActing(acting: boolean): void;
  notReady(): string | null;
} {
  let trouble: string | null = 'the hub has not responded yet';
  let holds = false;
  let acts = false;
  const lease: HubClient['lease'] = async (request, options) => {
    try {
      const answer = await hub.lease(request, options);
      holds = true;
      trouble = request.cluster_reachable === false ? 'the cluster does not respond' : null;
      return answer;
    } catch (error) {
      const standby = error instanceof HubError && error.kind === 'conflict' && !error.isAnotherCluster;
      holds = false;
      trouble = standby ? null : String(error instanceof Error ? error.message : error);
      throw error;
    }
  };
  return {
    hub: { ...hub, lease },
    onActing: (acting) => {
      acts = acting;
    },
    notReady: () => trouble ?? (holds && !acts ? 'the listener is reading the objects of its cluster' : null),
  };
}

/**
 * Starts the listener. The listener acquires the lease of the hub in the background.
 * @throws Error when the hub or the cluster is not configured
 */
export async function startListener(context: RoleContext, api: ApiRole | null): Promise<RunningRole> {
  const { config, logger, version } = context;
  const { transport, close } = transportOf(config, api);
  const watch = watchHub(createHubClient({ transport, listenerId: config.listenerId, logger }));
  const metrics = context.metrics.cluster();
  const client = await createKubeClient({
    ...clusterOptions(config, config.listenerKubeconfig, `berth-listener/${version}`),
    observer: metrics.requests('listener'),
  });
  metrics.leading('listener', false);
  const stopping = new AbortController();
  const answered = Promise.withResolvers<void>();
  const ended = runListener(
    {
      hub: watch.hub,
      client,
      identity: config.identity,
      version,
      namespaces: config.namespaces,
      ownNamespace: config.namespace,
      buildNamespace: config.builds?.namespace,
      buildBaseSecret: config.builds?.baseSecret ?? undefined,
      rendering: config.rendering,
      onHubAnswer: answered.resolve,
      onActing: (acting) => {
        watch.onActing(acting);
        metrics.leading('listener', acting);
      },
      onTerm: ({ queue, watches }) => {
        metrics.queue('work', queue);
        metrics.watches('listener', watches);
      },
      onOutcome: metrics.reconciles('work'),
      ...(context.span === undefined ? {} : { span: context.span }),
      logger,
    },
    stopping.signal,
  );
  const failed = untilFailure(ended);
  // After the first response, the hub knows the namespaces and places a deployment without a namespace in one of them.
  if (api !== null) await Promise.race([answered.promise, failed, sleep(FIRST_ANSWER_MS)]);
  return {
    failed,
    notReady: watch.notReady,
    stop: async () => {
      stopping.abort();
      await ended.catch(() => undefined);
      close();
      await client.close();
    },
  };
}

import { setTimeout as sleep } from 'node:timers/promises';
import { clusterOptions } from './cluster-access.ts';
import type { Config } from './config.ts';
import { createKubeClient } from './kube/client.ts';
import { createHubClient } from './listener/hub-client.ts';
import { type HubTransport, httpTransport, inProcessTransport } from './listener/hub-transport.ts';
import { runListener } from './listener/listener.ts';
import { type RoleContext, type RunningRole, untilFailure } from './role.ts';
import type { ApiRole } from './role-api.ts';

/** The hub of the same process answers at once; a cluster that does not answer may delay what it is told. */
const FIRST_ANSWER_MS = 10_000;

/** Through the API of this process where it runs one, else over HTTP. */
function transportOf(config: Config, api: ApiRole | null): HubTransport {
  if (api !== null) return inProcessTransport(api.inject, api.internalKey);
  if (config.hubUrl === null || config.listenerKey === null) {
    throw new Error(
      'failed to start the listener: it does not know its hub; next: set BERTH_HUB_URL to the URL of the API and BERTH_LISTENER_KEY to a key with the scope listeners:run (berth keys create --platform --name listener)',
    );
  }
  return httpTransport(config.hubUrl, config.listenerKey);
}

/**
 * Starts the listener; it seeks the hub's lease in the background.
 * @throws Error when hub or cluster are not configured
 */
export async function startListener(context: RoleContext, api: ApiRole | null): Promise<RunningRole> {
  const { config, logger, version } = context;
  const hub = createHubClient({ transport: transportOf(config, api), listenerId: config.listenerId, logger });
  const client = await createKubeClient(
    clusterOptions(config, config.listenerKubeconfig, `berth-listener/${version}`),
  );
  const stopping = new AbortController();
  const answered = Promise.withResolvers<void>();
  const ended = runListener(
    {
      hub,
      client,
      identity: config.identity,
      version,
      namespaces: config.namespaces,
      rendering: config.rendering,
      onHubAnswer: answered.resolve,
      logger,
    },
    stopping.signal,
  );
  const failed = untilFailure(ended);
  // From then on the hub knows the namespaces: a deployment that names none does not land outside of them.
  if (api !== null) await Promise.race([answered.promise, failed, sleep(FIRST_ANSWER_MS)]);
  return {
    failed,
    // Without the lease it is a standby, and without its cluster it says so to the hub: both are its work.
    notReady: () => null,
    stop: async () => {
      stopping.abort();
      await ended.catch(() => undefined);
      await client.close();
    },
  };
}

/** A listener of the platform that sees the cluster of every deployment, and no pod: so logs are answered at once. */

import { createHubClient, HubError } from '../../src/cluster/listener/session/hub-client.ts';
import { type Inject, inProcessTransport } from '../../src/cluster/listener/session/hub-transport.ts';
import { LOG_ABILITIES } from '../../src/domain/core/log-query.ts';
import { PLATFORM_LISTENER_ID } from '../../src/domain/deployment/source.ts';
import type { ApiDeps } from '../../src/hub/api/core/deps.ts';
import { createWorkHints } from '../../src/hub/api/listeners/work-hints.ts';
import { listenForWork } from '../../src/hub/store/core/notifications.ts';
import { hashApiKey } from '../../src/hub/store/tenancy/api-keys.ts';
import type { ApiFixture } from '../integration/harness/api.ts';

const KEY = 'internal-key-of-the-fuzzing';

/** What the API has to be started with. */
export function forListener(): Required<Pick<ApiDeps, 'internalKey' | 'logHints'>> {
  const internalKey = { hash: hashApiKey(KEY), scopes: ['listeners:run'], platform: true } as const;
  return { internalKey, logHints: createWorkHints() };
}

/** Takes the lease, which is held for as long as the API gives it, and answers readers until it is stopped. */
export async function startListener(
  api: ApiFixture,
  { logHints }: Pick<ReturnType<typeof forListener>, 'logHints'>,
): Promise<{ stop(): Promise<void> }> {
  const { logger } = api.store;
  const hub = createHubClient({
    transport: inProcessTransport(api.app.inject.bind(api.app) as unknown as Inject, KEY),
    listenerId: PLATFORM_LISTENER_ID,
    logger,
  });
  const notifications = listenForWork({
    url: api.store.url,
    logger,
    onWork: () => undefined,
    onLogs: (ids) => logHints.notify(ids),
    onRescan: () => logHints.notifyAll(),
  });
  await notifications.armed;
  const lease = { holder: 'fuzz', version: '1', cluster_version: 'v1.36.0', rendering: null, epoch: null };
  const { epoch } = await hub.lease(lease);
  const stopping = new AbortController();
  const { signal } = stopping;
  const answer = async (requestId: string) => {
    try {
      await hub.logChunk(requestId, { epoch, seq: 1, lines: [], end: 'There is no pod.' });
    } catch (error) {
      // A reader that did not wait.
      if (!(error instanceof HubError && error.status === 404)) throw error;
    }
  };
  const running = (async () => {
    while (!signal.aborted) {
      const requests = await hub.logRequests({ epoch, waitSeconds: 1, knows: LOG_ABILITIES }, { signal });
      await Promise.all(requests.map(({ request_id }) => answer(request_id)));
    }
  })().catch((error) => {
    if (!signal.aborted) logger.error({ err: error }, 'the listener of the fuzzing ended');
  });
  return {
    stop: async () => {
      stopping.abort();
      await running;
      await notifications.close();
    },
  };
}

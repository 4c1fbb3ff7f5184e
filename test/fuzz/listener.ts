/** A listener of the platform that sees the cluster of every deployment, and no pod: so logs are answered at once. */

import { createHubClient, HubError } from '../../src/cluster/listener/session/hub-client.ts';
import { type Inject, inProcessTransport } from '../../src/cluster/listener/session/hub-transport.ts';
import { LISTENER_ABILITIES } from '../../src/domain/core/log-query.ts';
import { PLATFORM_LISTENER_ID } from '../../src/domain/deployment/source.ts';
import type { ApiDeps } from '../../src/hub/api/core/deps.ts';
import { createWorkHints } from '../../src/hub/api/listeners/work-hints.ts';
import { listenForWork } from '../../src/hub/store/core/notifications.ts';
import { hashApiKey } from '../../src/hub/store/tenancy/api-keys.ts';
import type { ApiFixture } from '../integration/harness/api.ts';

const KEY = 'internal-key-of-the-fuzzing';

const NO_OBJECTS = {
  objects: [],
  omitted: [],
  unread: [],
  metrics: { available: false, reason: 'The cluster has no metrics API.' },
};
const SERVICE = {
  kind: 'Service',
  api_version: 'v1',
  name: 'web',
  owner: null,
  component: null,
  revision_id: null,
  state: 'ready',
  message: null,
  created_at: null,
} as const;
const ONE_OBJECT = {
  object: SERVICE,
  manifest: JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } }),
  events: [],
  unread: [],
};

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
  const abilities = [...LISTENER_ABILITIES];
  const of = { version: '1', cluster_version: 'v1.36.0', rendering: null };
  const lease = { holder: 'fuzz', ...of, abilities, epoch: null };
  const { epoch } = await hub.lease(lease);
  const stopping = new AbortController();
  const { signal } = stopping;
  const answer = async (send: () => Promise<unknown>) => {
    try {
      await send();
    } catch (error) {
      // A reader that did not wait.
      if (!(error instanceof HubError && error.status === 404)) throw error;
    }
  };
  const running = (async () => {
    while (!signal.aborted) {
      const query = { epoch, waitSeconds: 1, knows: LISTENER_ABILITIES };
      const wanted = await hub.logRequests(query, { signal });
      const chunk = { epoch, seq: 1, lines: [], end: 'There is no pod.' };
      await Promise.all([
        ...wanted.log_requests.map(({ request_id: id }) => answer(() => hub.logChunk(id, chunk))),
        ...(wanted.object_requests ?? []).map(({ request_id: id, query: { read } }) =>
          answer(() =>
            hub.sendObjects(id, {
              epoch,
              ...(read === 'map' ? { map: NO_OBJECTS } : { object: ONE_OBJECT }),
            }),
          ),
        ),
      ]);
    }
  })().catch((error) => {
    if (!signal.aborted)
      logger.error({ err: error, why: String(error) }, 'the listener of the fuzzing ended');
  });
  return {
    stop: async () => {
      stopping.abort();
      await running;
      await notifications.close();
    },
  };
}

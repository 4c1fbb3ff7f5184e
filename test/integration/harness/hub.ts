/** The hub's side of the listener protocol on a database of its own, called in-process. */
import { type FastifyInstance, fastify } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import type { LeaseRequest } from '../../../src/contract/protocol/lease-protocol.ts';
import type { Report } from '../../../src/contract/protocol/report-protocol.ts';
import type { WorkItem } from '../../../src/contract/protocol/work-protocol.ts';
import { PLATFORM_LISTENER_ID } from '../../../src/domain/deployment/source.ts';
import { resolvePolicy } from '../../../src/domain/policy/policy.ts';
import { errorHandler } from '../../../src/hub/api/core/errors.ts';
import { validatorCompiler } from '../../../src/hub/api/core/validation.ts';
import {
  type ListenerCaller,
  registerListenerProtocol,
} from '../../../src/hub/api/listeners/listener-protocol-routes.ts';
import { createWorkHints, type WorkHints } from '../../../src/hub/api/listeners/work-hints.ts';
import type { DeploymentRecord } from '../../../src/hub/store/core/records.ts';
import { checkAnswers } from './conformance.ts';
import { type StoreFixture, startStore } from './store.ts';

export const PLATFORM: ListenerCaller = { keyTenantId: null, scopes: ['listeners:run'] };

export interface HubFixture {
  readonly store: StoreFixture;
  readonly app: FastifyInstance;
  readonly hints: WorkHints;
  /** Whom the next calls come from. */
  caller: ListenerCaller;
  call<T = Record<string, unknown>>(
    method: 'GET' | 'PUT' | 'POST',
    path: string,
    body?: object,
  ): Promise<{ status: number; body: T }>;
  stop(): Promise<void>;
}

export async function startHub(
  options: { leaseSeconds?: number; registry?: string; poolSize?: number } = {},
): Promise<HubFixture> {
  const { poolSize } = options;
  const store = await startStore(poolSize === undefined ? {} : { poolSize });
  const hints = createWorkHints();
  const app = fastify();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  const hub: HubFixture = {
    store,
    app,
    hints,
    caller: PLATFORM,
    async call(method, path, body) {
      const response = await app.inject({
        method,
        url: path,
        ...(body === undefined ? {} : { payload: body }),
      });
      return {
        status: response.statusCode,
        body: response.payload === '' ? null : JSON.parse(response.payload),
      };
    },
    async stop() {
      await app.close();
      await store.stop();
    },
  };
  app.setErrorHandler(errorHandler(store.logger));
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  checkAnswers(app);
  const { database, box: secretBox, logger } = store;
  const deps = {
    database,
    secretBox,
    hints,
    logger,
    policy: resolvePolicy('cloud'),
    leaseSeconds: options.leaseSeconds ?? 60,
    version: '1.2.3',
    registry: options.registry ?? null,
  };
  await registerListenerProtocol(app, deps, () => hub.caller);
  await app.ready();
  return hub;
}

/** A report of a listener about a custom resource. No revision is active, rolling or failed unless `more` has it. */
export const observedReport = (
  {
    id,
    appName,
    namespace,
    generation,
  }: Pick<DeploymentRecord, 'id' | 'appName' | 'namespace' | 'generation'>,
  more: object = {},
): Report => ({
  kind: 'observed',
  deployment_id: id,
  name: appName,
  namespace,
  observed_spec_generation: generation,
  conditions: [],
  off: false,
  url: null,
  active_revision: null,
  rollout_revision: null,
  failed_revision: null,
  ...more,
});

const path = (listenerId: string) => `/v2/listeners/${listenerId}`;

/** What a listener calls, with one process's state: its epoch and seq. */
export function protocolClient(hub: HubFixture, holder: string, listenerId = PLATFORM_LISTENER_ID) {
  let epoch: number | null = null;
  let seq = 0;
  return {
    get epoch() {
      return epoch;
    },
    async lease(more: Partial<LeaseRequest> = {}) {
      const answer = await hub.call<{ epoch: number; detail?: string }>('PUT', `${path(listenerId)}/lease`, {
        holder,
        version: '1',
        cluster_version: 'v1.36.0',
        rendering: null,
        epoch,
        ...more,
      });
      if (answer.status === 200 && answer.body.epoch !== epoch) {
        epoch = answer.body.epoch;
        seq = 0;
      }
      return answer;
    },
    work: (query = '') =>
      hub.call<{ items: WorkItem[]; detail?: string }>(
        'GET',
        `${path(listenerId)}/work?epoch=${epoch ?? 0}${query}`,
      ),
    report: (reports: Report[], more: object = {}) =>
      hub.call<{ accepted_seq: number; detail?: string }>('POST', `${path(listenerId)}/reports`, {
        epoch: epoch ?? 0,
        seq: ++seq,
        reports,
        ...more,
      }),
    inventory: (items: object[], complete = false, more: object = {}) =>
      hub.call<{ due: number; unknown: string[]; detail?: string }>('POST', `${path(listenerId)}/inventory`, {
        epoch: epoch ?? 0,
        complete,
        items,
        ...more,
      }),
  };
}

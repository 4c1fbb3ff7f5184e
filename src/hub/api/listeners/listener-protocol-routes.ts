import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  ANOTHER_CLUSTER,
  leaseRequestSchema,
  leaseResponseSchema,
  leaseStateSchema,
} from '../../../contract/protocol/lease-protocol.ts';
import {
  inventoryRequestSchema,
  inventoryResponseSchema,
  reportsRequestSchema,
  reportsResponseSchema,
} from '../../../contract/protocol/report-protocol.ts';
import { workQuerySchema, workResponseSchema } from '../../../contract/protocol/work-protocol.ts';
import type { ClusterReport } from '../../../domain/deployment/cluster-report.ts';
import { GENERATION_AHEAD } from '../../../domain/revision/report-outcome.ts';
import type { Database, Scope } from '../../store/core/database.ts';
import { takeInventory } from '../../store/listeners/listener-inventory.ts';
import {
  AnotherCluster,
  checkEpoch,
  LeaseHeld,
  listenerOwner,
  StaleEpoch,
  takeLease,
} from '../../store/listeners/listener-lease.ts';
import { readLease } from '../../store/listeners/listener-lease-state.ts';
import { type BatchResult, takeReports } from '../../store/listeners/listener-reports.ts';
import { checkProcfiles } from '../builds/procfile-check.ts';
import { type Caller, callerOf } from '../core/auth.ts';
import { disconnectSignal, shutdownSignal } from '../core/client-disconnect.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, notFound } from '../core/errors.ts';
import { noQuery } from '../core/query.ts';
import { listenerRendering } from '../deployments/deployment-placement.ts';
import { UNOBSERVED } from '../observe/observer.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { keyOf } from '../tenancy/principal.ts';
import { addLogRoutes } from './listener-log-routes.ts';
import { type WorkDeps, waitForWork } from './listener-long-poll.ts';
import { addRemovalRoute } from './listener-removal-route.ts';
import { toClusterReport, toInventoryEntry } from './listener-reports.ts';
import { addTaskRoutes } from './listener-task-routes.ts';

export type ListenerProtocolDeps = WorkDeps &
  Pick<ApiDeps, 'database' | 'leaseSeconds' | 'logHints' | 'version' | 'observer' | 'span'>;

/** The parts of the caller that these routes use. */
export interface ListenerCaller extends Pick<Caller, 'scopes'> {
  /** The tenant of the credential; null: the platform. */
  readonly keyTenantId: string | null;
}

/** A key runs the listeners of its own tenant, whatever tenant the request names. */
function listenerCallerOf(request: FastifyRequest): ListenerCaller {
  const { principal, tenantId, scopes } = callerOf(request);
  const key = keyOf(principal);
  return { keyTenantId: key === null ? tenantId : key.keyTenantId, scopes };
}

/**
 * Body limit of inventories and reports, in bytes. The limit is sufficient for the maximum number of items with long
 * names and messages.
 */
const BODY_LIMIT = 16 * 1024 * 1024;

const params = z.object({ listener_id: z.uuid() });
const refusals = errorAnswers(404, 409, 413, 415);

/**
 * The scope in which the caller may run this listener. A key of a tenant may run listeners of the tenant, a key of the
 * platform may run listeners of the platform, and an admin may run any listener. In the scope of the platform, each
 * listener has its own share of the connections, so the reports of one do not delay the lease renewals of another.
 */
async function scopeFor(database: Database, caller: ListenerCaller, listenerId: string): Promise<Scope> {
  const { keyTenantId: tenantId } = caller;
  const admin = caller.scopes.includes('admin');
  const scope = admin || tenantId === null ? database.forPlatform(listenerId) : database.forTenant(tenantId);
  const owner = await scope.read((reader) => listenerOwner(reader, listenerId));
  if (owner === undefined || (!admin && owner !== tenantId)) throw notFound('listener');
  return scope;
}

/** Converts errors to a 409 of the protocol. All other errors go to the error handler of the app. */
function toConflict(error: unknown): never {
  if (error instanceof AnotherCluster) {
    throw new ApiError(
      409,
      `${ANOTHER_CLUSTER}: use a separate listener id for this cluster, or, if it replaces the other cluster, PATCH ` +
        `/v2/listeners/{id} with {"cluster_id": null}.`,
    );
  }
  if (error instanceof StaleEpoch || error instanceof LeaseHeld) throw new ApiError(409, error.message);
  throw error;
}

/** Logs changes and records metrics. */
function recordReports(
  { logger, observer = UNOBSERVED, span }: ListenerProtocolDeps,
  reports: readonly ClusterReport[],
  { ignored, moved, progress }: BatchResult,
  beganAt: number,
): void {
  for (const { kind } of reports) observer.reported(kind);
  for (const report of ignored) {
    observer.ignored();
    logger.debug(report, 'ignored a report');
  }
  for (const move of moved) {
    logger.info(move, 'a revision changed its status');
    const { deploymentId, generation, revisionId, to, reason } = move;
    const attributes = { 'berth.revision_id': revisionId, 'berth.reason': reason };
    const change = { deploymentId, generation };
    span?.({ name: `revision ${to}`, change, attributes, beganAt, endedAt: Date.now() });
  }
  for (const measure of progress) observer.progressed(measure);
}

/**
 * Fraction (1/4) of the time in which the reports of a holder count as current. A holder that does not renew the lease
 * within this fraction is replaced.
 */
const HELD_PART = 4;

function addRoutes(
  app: FastifyInstance,
  deps: ListenerProtocolDeps,
  caller: (request: FastifyRequest) => ListenerCaller,
): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const closing = shutdownSignal(app);
  app.setErrorHandler(toConflict);
  const times = { observedSeconds: deps.leaseSeconds, heldSeconds: deps.leaseSeconds / HELD_PART };
  const config = {
    access: { scopes: ['listeners:run', 'admin'], tenant: 'any' },
  } satisfies FastifyContextConfig;
  const scopeOf = (request: FastifyRequest, listenerId: string) =>
    scopeFor(deps.database, caller(request), listenerId);
  addLogRoutes({ app, deps, config, scopeOf, closing });
  addRemovalRoute({ app, deps, config, scopeOf });
  addTaskRoutes({ app, deps, config, scopeOf, closing });

  routes.put(
    '/v2/listeners/:listener_id/lease',
    {
      config,
      schema: {
        tags: ['listener protocol'],
        summary: 'Take, renew or release the lease of a listener.',
        params,
        body: leaseRequestSchema,
        response: { 200: leaseResponseSchema, ...refusals },
      },
    },
    async (request) => {
      const scope = await scopeOf(request, request.params.listener_id);
      const { body } = request;
      const claim = {
        holder: body.holder,
        epoch: body.epoch,
        release: body.release ?? false,
        clusterReachable: body.cluster_reachable ?? true,
        version: body.version,
        clusterVersion: body.cluster_version,
        abilities: body.abilities ?? [],
        rendering: body.rendering,
        clusterId: body.cluster_id ?? null,
        unreadable: Object.fromEntries(
          (body.unreadable_namespaces ?? []).map(({ namespace, message }) => [namespace, message]),
        ),
        namespaces: body.namespaces ?? null,
      };
      const lease = await scope.transaction((transaction) =>
        takeLease(transaction, request.params.listener_id, claim, times),
      );
      if (lease === null) throw notFound('listener');
      return { epoch: lease.epoch, ttl_seconds: times.heldSeconds };
    },
  );

  routes.get(
    '/v2/listeners/:listener_id/lease',
    {
      config,
      schema: {
        tags: ['listener protocol'],
        summary: 'Get the lease of a listener.',
        description: 'Reads the lease without taking it. This call checks hub URL, key and listener id.',
        params,
        querystring: noQuery,
        response: { 200: leaseStateSchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const { listener_id: id } = request.params;
      const scope = await scopeOf(request, id);
      const lease = await scope.read((reader) => readLease(reader, id, times));
      if (lease === null) throw notFound('listener');
      return {
        hub_version: deps.version,
        epoch: lease.epoch,
        holder: lease.holder,
        held: lease.held,
        namespaces: [...lease.namespaces],
        used_namespaces: [...lease.used],
        rendering: listenerRendering(lease),
        cluster_id: lease.clusterId,
      };
    },
  );

  routes.get(
    '/v2/listeners/:listener_id/work',
    {
      config: { ...config, waits: true },
      schema: {
        tags: ['listener protocol'],
        summary: 'Get due work items. The response waits until there is one.',
        params,
        querystring: workQuerySchema,
        response: { 200: workResponseSchema, ...refusals },
      },
    },
    async (request, reply) => {
      const listenerId = request.params.listener_id;
      const scope = await scopeOf(request, listenerId);
      const { epoch, limit, lost, wait_seconds: wait } = request.query;
      const signal = disconnectSignal(reply, closing);
      return {
        items: await waitForWork(deps, scope, { listenerId, epoch, limit, lost, wait: wait * 1000, signal }),
      };
    },
  );

  routes.post(
    '/v2/listeners/:listener_id/reports',
    {
      config,
      bodyLimit: BODY_LIMIT,
      schema: {
        tags: ['listener protocol'],
        summary: 'Report results and statuses.',
        params,
        body: reportsRequestSchema,
        response: { 200: reportsResponseSchema, ...refusals },
      },
    },
    async (request) => {
      const scope = await scopeOf(request, request.params.listener_id);
      const { epoch, seq } = request.body;
      const { listener_id: listenerId } = request.params;
      const reports = await checkProcfiles(
        deps,
        scope,
        listenerId,
        request.body.reports.map(toClusterReport),
      );
      const context = { now: new Date(), box: deps.secretBox };
      const result = await scope.transaction(
        (transaction) =>
          takeReports(transaction, request.params.listener_id, { epoch, seq, reports }, context),
        { byIndex: true },
      );
      if (result === null) throw notFound('listener');
      recordReports(deps, reports, result, context.now.getTime());
      const isAhead = result.ignored.some(({ why }) => why === GENERATION_AHEAD);
      return { accepted_seq: result.acceptedSeq, ...(isAhead ? { inventory_wanted: true } : {}) };
    },
  );

  routes.post(
    '/v2/listeners/:listener_id/inventory',
    {
      config,
      bodyLimit: BODY_LIMIT,
      schema: {
        tags: ['listener protocol'],
        summary: 'Report the inventory of the cluster.',
        params,
        body: inventoryRequestSchema,
        response: { 200: inventoryResponseSchema, ...refusals },
      },
    },
    async (request) => {
      const listenerId = request.params.listener_id;
      const scope = await scopeOf(request, listenerId);
      const { epoch, complete, items, namespaces = null } = request.body;
      const result = await scope.transaction(async (transaction) => {
        // guard: epoch-of-inventories
        await checkEpoch(transaction, listenerId, epoch);
        const entries = items.map(toInventoryEntry);
        return takeInventory(transaction, listenerId, { complete, namespaces, entries });
      });
      if (result.due > 0) deps.hints.notify([listenerId]);
      return result;
    },
  );
}

/** The listener calls: lease, work, reports, inventory (contract/protocol/*). */
export async function registerListenerProtocol(
  app: FastifyInstance,
  deps: ListenerProtocolDeps,
  caller: (request: FastifyRequest) => ListenerCaller = listenerCallerOf,
): Promise<void> {
  await app.register(async (scoped) => addRoutes(scoped, deps, caller));
}

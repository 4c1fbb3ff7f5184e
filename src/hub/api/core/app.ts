import swagger from '@fastify/swagger';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Logger } from '../../../domain/core/logger.ts';
import { MAX_NAME } from '../../../domain/core/name.ts';
import { UPLOAD_MS } from '../../../domain/uploads/upload.ts';
import { buildLogRoutes } from '../builds/build-log-routes.ts';
import { pushTokenRoutes } from '../builds/push-token-routes.ts';
import { registryTokenRoutes } from '../builds/registry-token-routes.ts';
import { consoleRoutes } from '../console/console-routes.ts';
import { deploymentApplyRoutes } from '../deployments/deployment-apply-routes.ts';
import { deploymentDeletionRoutes } from '../deployments/deployment-deletion-routes.ts';
import { deploymentRoutes } from '../deployments/deployment-routes.ts';
import { deploymentSecretsRoutes } from '../deployments/deployment-secrets-routes.ts';
import { eventRoutes } from '../events/event-routes.ts';
import { integrationRoutes } from '../integrations/integration-routes.ts';
import { listenerChangeRoutes } from '../listeners/listener-change-routes.ts';
import { registerListenerProtocol } from '../listeners/listener-protocol-routes.ts';
import { listenerRoutes } from '../listeners/listener-routes.ts';
import { LogMasks } from '../logs/log-masks.ts';
import { logRoutes } from '../logs/log-routes.ts';
import { objectRoutes } from '../objects/object-routes.ts';
import { changeSubject, isRead } from '../observe/change-subject.ts';
import { healthRoutes } from '../observe/health-routes.ts';
import { type OnRequestEnd, observeRequests } from '../observe/observe-requests.ts';
import { openApiOptions } from '../openapi/openapi.ts';
import { openApiRoutes } from '../openapi/openapi-routes.ts';
import { closePages } from '../pages/page-headers.ts';
import { explainRoutes } from '../revisions/explain-routes.ts';
import { redeployRoutes } from '../revisions/redeploy-routes.ts';
import { revisionRoutes } from '../revisions/revision-routes.ts';
import { serializerCompiler } from '../serialization/response-serializer.ts';
import { authRoutes } from '../sign-in/auth-routes.ts';
import { sessionFinder } from '../sign-in/session-finder.ts';
import { sourceRoutes } from '../sources/source-routes.ts';
import { tagChangeRoutes } from '../tags/tag-change-routes.ts';
import { tagRoutes } from '../tags/tag-routes.ts';
import { taskRoutes } from '../tasks/task-routes.ts';
import { accessCheck, createAccessWatch } from '../tenancy/access-watch.ts';
import { keyFinder } from '../tenancy/api-key-cache.ts';
import { apiKeyRoutes } from '../tenancy/api-key-routes.ts';
import { policyRoutes } from '../tenancy/policy-routes.ts';
import { logFieldsOf } from '../tenancy/principal.ts';
import { tenantRoutes } from '../tenancy/tenant-routes.ts';
import { tracingProjectRoutes } from '../tenancy/tracing-project-routes.ts';
import { usageRoutes } from '../tenancy/usage-routes.ts';
import { devicePage } from '../tokens/device-page.ts';
import { deviceRoutes } from '../tokens/device-routes.ts';
import { personRoutes } from '../tokens/person-routes.ts';
import { tokenEndpoint } from '../tokens/token-endpoint.ts';
import { tokenFinder } from '../tokens/token-finder.ts';
import { tokenRoutes } from '../tokens/token-routes.ts';
import { watchRoutes } from '../watch/watch-routes.ts';
import { webhookRoutes } from '../webhooks/webhook-routes.ts';
import { webhookSecretRoutes } from '../webhooks/webhook-secret-routes.ts';
import { authenticate, recheckSessions, recheckWith } from './auth.ts';
import { limitBodies } from './body-limit.ts';
import { limitBodyTime } from './body-time.ts';
import { type ApiDeps, LISTENER_BODY_LIMIT } from './deps.ts';
import { ApiError, errorHandler, noRoute } from './errors.ts';
import { announceShutdown } from './graceful-shutdown.ts';
import { rejectUnsupportedKey } from './idempotency.ts';
import { parseJsonBody } from './json-body.ts';
import { answerClientError, answerExpectation } from './pre-route-errors.ts';
import { createLimiter } from './rate-limit.ts';
import { requestId } from './request-id.ts';
import { validatorCompiler } from './validation.ts';

/** Creates the HTTP API, without listening. */

/**
 * Time in milliseconds within which the headers of a request must arrive, and then its body. A new connection must send a
 * request within this time.
 */
const REQUEST_TIMEOUT_MS = 30_000;
/**
 * Interval in milliseconds at which Node checks for late requests. A late request is closed at most this time after its
 * deadline.
 */
const LATE_CHECK_MS = 1_000;

/**
 * Maximum length of a parameter of a path. A name can be a parameter. Each of its characters has up to 4 bytes in UTF-8, and
 * each byte has up to 3 characters in the URL. A decomposed spelling has up to 3 times the length.
 */
const MAX_PARAM_LENGTH = MAX_NAME * 4 * 3 * 3;

/**
 * Node's options for late requests. The headers must arrive in this time. body-time.ts limits the body, because the limit of
 * Node for the whole request (requestTimeout) is that of an upload. Node checks every 30 s by default.
 */
const lateRequests = (timeoutMs: number) => ({
  headersTimeout: timeoutMs,
  connectionsCheckingInterval: Math.min(LATE_CHECK_MS, timeoutMs),
});

function setHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
  // Responses must not be cached, because they can contain secrets.
  if (request.routeOptions.config.access !== 'public') reply.header('cache-control', 'no-store');
}

const pathOf = (url: string) => url.split('?', 1)[0] ?? '';

/** `/v2/deployments/` does not mean the deployment with an empty id, so no route matches it. */
function requireParams({ params, url }: FastifyRequest): void {
  const isEmpty = Object.entries(params ?? {}).some(([name, value]) => name !== '*' && value === '');
  if (isEmpty) throw noRoute(pathOf(url));
}

/** RFC 9112, section 3.2. Node would also check this header, but its response has no body and no request id. */
function requireHost({ raw, headers }: FastifyRequest): void {
  if (raw.httpVersion === '1.1' && headers.host === undefined)
    throw new ApiError(400, 'The header Host is required.');
}

type Check = (request: FastifyRequest, reply: FastifyReply) => void;

/** All synchronous checks share one hook, because each promise of a hook costs time in every request. */
function checks(all: readonly Check[]) {
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    try {
      for (const check of all) check(request, reply);
    } catch (error) {
      done(error as Error);
      return;
    }
    done();
  };
}

/** The status in the log for a client that closed the connection before the response (499, as in nginx). */
const CLIENT_GONE = 499;

/** Writes one log line per response or aborted request, without headers, body and query. */
function logEnd(logger: Logger): OnRequestEnd {
  return (request, _, { status, ms }) => {
    const { access, url: route } = request.routeOptions.config;
    // Requests of listeners are not logged at this level, because they renew their lease every few seconds. The history
    // of the deployments contains the changes by listeners.
    const routine = access === 'public' || access?.scopes.includes('listeners:run');
    const level = isRead(request.method) || routine ? 'debug' : 'info';
    if (logger.isLevelEnabled?.(level) === false) return;
    const { caller } = request;
    const fields = {
      requestId: request.id,
      method: request.method,
      route: route ?? 'none',
      status: status === 'aborted' ? CLIENT_GONE : status,
      ms: Math.round(ms),
      ...changeSubject(request),
      ...(caller === null ? {} : { ...logFieldsOf(caller.principal), tenantId: caller.tenantId }),
    };
    logger[level](fields, 'answered');
  };
}

function addParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      done(null, parseJsonBody(request, body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
}

/**
 * The listener protocol. Routes of the listener protocol sanitize texts from clusters, so they are not rejected here.
 */
function listenerProtocol(app: FastifyInstance, deps: ApiDeps): void {
  app.register(async (scoped) => {
    scoped.addHook('onRoute', (route) => {
      route.config = { ...route.config, anyText: true };
      // Inventories and reports have a separate, larger limit.
      route.bodyLimit ??= LISTENER_BODY_LIMIT;
    });
    await registerListenerProtocol(scoped, deps);
  });
}

/** Creates the API. The caller calls `listen` or uses `inject`. */
export function buildApp(deps: ApiDeps): FastifyInstance {
  const { logger, requestTimeoutMs = REQUEST_TIMEOUT_MS } = deps;
  const handleError = errorHandler(logger);
  const limiter = createLimiter(deps.rateLimits ?? null);
  const app = fastify({
    bodyLimit: deps.bodyLimit ?? deps.policy.body_bytes,
    trustProxy: deps.trustProxy?.length ? [...deps.trustProxy] : false,
    requestTimeout: Math.max(requestTimeoutMs, UPLOAD_MS),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    genReqId: requestId,
    requestIdHeader: false,
    logger: false,
    http: { requireHostHeader: false, ...lateRequests(requestTimeoutMs) },
    // Requests that still arrive on open connections are served with `Connection: close`.
    return503OnClosing: false,
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      setHeaders(request, reply as unknown as FastifyReply);
      handleError(error, request, reply as unknown as FastifyReply);
    },
  });
  app.server.on('checkExpectation', answerExpectation);
  const bodyTime = limitBodyTime(app.server, requestTimeoutMs);
  addParser(app);
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler(handleError);
  app.setNotFoundHandler(({ url }) => {
    throw noRoute(pathOf(url));
  });
  observeRequests(app, deps, logEnd(logger));
  app.addHook('onRequest', checks([setHeaders, requireHost, requireParams]));
  app.decorateRequest('caller', null);
  const findKey = keyFinder(deps);
  const sessions = sessionFinder(deps);
  const tokens = tokenFinder(deps);
  const isAllowed = accessCheck(deps, { sessions, tokens });
  const watch = createAccessWatch(deps, isAllowed);
  const masks = new LogMasks(deps.secretBox);
  const recheck = recheckWith(isAllowed);
  app.addHook('onRequest', authenticate(deps, limiter, { findKey, sessions, tokens }));
  app.addHook('onRequest', checks([rejectUnsupportedKey, limitBodies()]));
  app.addHook('preHandler', recheckSessions(recheck));
  announceShutdown(app);
  app.addHook('onSend', closePages);
  app.register(swagger, openApiOptions(deps));
  app.register(async (scoped) => {
    healthRoutes(scoped, deps);
    deploymentRoutes(scoped, deps);
    deploymentApplyRoutes(scoped, deps);
    deploymentSecretsRoutes(scoped, deps);
    deploymentDeletionRoutes(scoped, deps);
    revisionRoutes(scoped, deps);
    redeployRoutes(scoped, deps);
    sourceRoutes(scoped, deps, { bodyTime, recheck });
    buildLogRoutes(scoped, deps, watch);
    logRoutes(scoped, deps, { limiter, watch, masks });
    taskRoutes(scoped, deps);
    objectRoutes(scoped, deps, { limiter, watch, masks });
    explainRoutes(scoped, deps);
    eventRoutes(scoped, deps, watch);
    watchRoutes(scoped, deps, watch);
    integrationRoutes(scoped, deps);
    webhookSecretRoutes(scoped, deps);
    webhookRoutes(scoped, deps);
    listenerRoutes(scoped, deps);
    listenerChangeRoutes(scoped, deps);
    listenerProtocol(scoped, deps);
    tagRoutes(scoped, deps);
    tagChangeRoutes(scoped, deps);
    tenantRoutes(scoped, deps);
    apiKeyRoutes(scoped, deps);
    authRoutes(scoped, { deps, limiter, sessions, findKey });
    tokenEndpoint(scoped, deps, limiter);
    tokenRoutes(scoped, deps);
    personRoutes(scoped, deps);
    deviceRoutes(scoped, { deps, limiter, sessions });
    devicePage(scoped, { deps, limiter, sessions });
    usageRoutes(scoped, deps);
    policyRoutes(scoped, deps);
    tracingProjectRoutes(scoped, deps);
    pushTokenRoutes(scoped, deps);
    registryTokenRoutes(scoped, deps, limiter);
    consoleRoutes(scoped, deps);
    openApiRoutes(scoped);
  });
  return app;
}

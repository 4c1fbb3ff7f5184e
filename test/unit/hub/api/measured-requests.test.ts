/** What metrics record of requests: whether a response waits, and whether the cluster or the hub caused a failure. */
import { type FastifyRequest, fastify } from 'fastify';
import { expect, test } from 'vitest';
import type { ZodObject } from 'zod';
import { declaringDeps } from '../../../../scripts/openapi-document.ts';
import { buildApp } from '../../../../src/hub/api/core/app.ts';
import type { ApiDeps } from '../../../../src/hub/api/core/deps.ts';
import { ApiError, errorHandler } from '../../../../src/hub/api/core/errors.ts';
import { isFollowing, NDJSON } from '../../../../src/hub/api/core/line-stream.ts';
import { observeRequests } from '../../../../src/hub/api/observe/observe-requests.ts';
import { UNOBSERVED } from '../../../../src/hub/api/observe/observer.ts';
import { createMetrics } from '../../../../src/metrics/metrics.ts';

test('marks every route that may wait: those with wait_seconds, those that stream, and those that read through a listener', async () => {
  const app = buildApp(declaringDeps());
  const marked = new Set<string>();
  const following = new Set<string>();
  const waiting = new Set<string>();
  const streamed = new Set<string>();
  const received = new Set<string>();
  app.addHook('onRoute', ({ url, config, schema = {} }) => {
    if (config?.waits !== undefined) marked.add(url);
    if (config?.waits === isFollowing) following.add(url);
    if (config?.streamsBody === true) received.add(url);
    const query = schema.querystring as Partial<ZodObject> | undefined;
    const answers = schema.response as Record<number, { content?: object }> | undefined;
    if (Object.hasOwn(query?.shape ?? {}, 'wait_seconds')) waiting.add(url);
    if (Object.hasOwn(answers?.[200]?.content ?? {}, NDJSON)) streamed.add(url);
  });
  await app.ready();
  // A listener must answer before their response is known.
  const throughListener = [...marked].filter((url) => url.includes('/objects'));
  expect(marked).toEqual(new Set([...waiting, ...streamed, ...received, ...throughListener]));
  expect(streamed).toEqual(new Set([...following, '/v2/watch']));
  expect([...marked].sort()).toEqual([
    '/v2/deployments/:deployment_id/events',
    '/v2/deployments/:deployment_id/logs',
    '/v2/deployments/:deployment_id/objects',
    '/v2/deployments/:deployment_id/objects/:kind/:name',
    '/v2/deployments/:deployment_id/revisions/:revision_id/build-logs',
    '/v2/deployments/:deployment_id/sources',
    '/v2/deployments/:deployment_id/tasks/:task_id/logs',
    '/v2/events',
    '/v2/listeners/:listener_id/log-requests',
    '/v2/listeners/:listener_id/tasks',
    '/v2/listeners/:listener_id/work',
    '/v2/watch',
  ]);
  await app.close();
});

test('measures the duration of responses that do not wait, and counts failures of a cluster', async () => {
  const app = fastify();
  const metrics = createMetrics({ version: '1', role: 'api' });
  const errors: unknown[] = [];
  const logger = { error: (_: object, text: string) => errors.push(text) };
  app.setErrorHandler(errorHandler(logger as never));
  const { observer } = metrics.hub();
  observeRequests(app, { observer: { ...UNOBSERVED, ...observer } } as ApiDeps, () => undefined);
  app.get('/poll', { config: { waits: true } }, async () => ({}));
  // The schemas of real routes convert the query.
  const convertsQuery = async (request: FastifyRequest) => {
    request.query = { follow: (request.query as { follow?: string }).follow === 'true' };
  };
  app.get('/list', { config: { waits: isFollowing }, preHandler: convertsQuery }, async () => ({}));
  app.get('/lost', async () => {
    throw new ApiError(503, 'The cluster is lost.', { ofCluster: true });
  });
  app.get('/broken', async () => {
    throw new Error('a bug');
  });
  const answers = await Promise.all(
    ['/poll', '/lost', '/broken', '/list', '/list?follow=true'].map((url) => app.inject(url)),
  );
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 503, 500, 200, 200]);
  observer.answered({
    method: 'GET',
    route: '/left',
    status: 'aborted',
    ofCluster: false,
    waits: false,
    seconds: 1,
  });
  const text = await metrics.registry.metrics();
  const lines = text.split('\n');
  const labels = (route: string, code: number) => `{method="GET",route="${route}",status_code="${code}"}`;
  expect(lines).toContain(`berth_http_waiting_requests_total${labels('/poll', 200)} 1`);
  expect(lines).toContain(`http_request_duration_seconds_count${labels('/list', 200)} 1`);
  expect(lines).toContain(`berth_http_waiting_requests_total${labels('/list', 200)} 1`);
  expect(lines).toContain(`http_request_duration_seconds_count${labels('/lost', 503)} 1`);
  expect(lines).toContain(`http_request_duration_seconds_count${labels('/broken', 500)} 1`);
  expect(lines).toContain(`http_request_duration_seconds_count${labels('/left', 499)} 1`);
  expect(lines).toContain('berth_http_cluster_errors_total 1');
  expect(text).not.toContain(`http_request_duration_seconds_count${labels('/poll', 200)}`);
  expect(errors).toEqual(['failed to respond to a request']);
  await app.close();
});

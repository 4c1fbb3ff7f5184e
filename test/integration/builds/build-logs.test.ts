/** Logs of builds, from pods through the real API server to the client of the API. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HubClient } from '../../../src/cluster/listener/session/hub-client.ts';
import { ANNOTATIONS, LABELS, MANAGED_BY } from '../../../src/contract/resource/names.ts';
import { KEPT_BUILD_LOGS, KEPT_LOG, LEFT_OUT } from '../../../src/domain/builds/build-log.ts';
import { PLATFORM_LISTENER_ID } from '../../../src/domain/deployment/source.ts';
import { pruneBuildLogs } from '../../../src/hub/store/builds/build-logs.ts';
import { BUILD_COMPONENT } from '../../../src/workloads/objects/build-job.ts';
import { waitFor } from '../../cluster/wait.ts';
import type { Deployment } from '../harness/api.ts';
import { kubectlAsAdmin, uniqueName } from '../harness/environment.ts';
import { type LogWorld, startLogWorld } from '../harness/log-world.ts';

const SECRET = 'canary-of-the-build-log';
let world: LogWorld;
let running: { stop(): Promise<void> };
beforeAll(async () => {
  world = await startLogWorld('buildlogs');
  running = await world.startListener();
});
afterAll(() => world?.stop());

interface Page {
  resources: { at: string; step: string; attempt: number; text: string }[];
  offset: number;
  complete: boolean;
}

const pathOf = (of: Deployment) => `/v2/deployments/${of.id}/revisions/${of.latest_revision_id}/build-logs`;
const page = async (of: Deployment, query = '') =>
  (await world.owner.call<Page & { detail?: unknown }>('GET', `${pathOf(of)}${query}`)).body;
const texts = ({ resources }: Page) => resources.map(({ step, text }) => `${step}: ${text}`);
const until = <T>(what: string, probe: () => Promise<T | undefined>) =>
  waitFor(what, probe, { timeoutMs: 40_000, intervalMs: 100 });
const numbered = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `line ${from + index}`);

/** A deployment whose latest revision is being built, as far as the hub knows. */
async function building(more: Record<string, unknown> = {}): Promise<Deployment> {
  const made = await world.deploy(more);
  await tell(made, 'BUILDING', { phase: 'Running' });
  return made;
}
const tell = (of: Deployment, status: string, build: object) =>
  world.api.store.sql('UPDATE revisions SET status = $2, build = $3 WHERE id = $1', [
    of.latest_revision_id,
    status,
    JSON.stringify(build),
  ]);
const over = (of: Deployment) =>
  tell(of, 'BUILD_FAILED', { phase: 'Failed', finished_at: new Date().toISOString() });

/** The pod of an attempt. */
async function podOf(of: Deployment, attempt = 1) {
  const pod = {
    namespace: world.buildNamespace,
    name: uniqueName('build'),
    labels: {
      [LABELS.managedBy]: MANAGED_BY,
      [LABELS.component]: BUILD_COMPONENT,
      [LABELS.revisionId]: of.latest_revision_id ?? '',
      [LABELS.namespace]: world.namespace,
      [LABELS.tenantId]: world.owner.tenantId,
    },
    annotations: { [ANNOTATIONS.buildAttempt]: String(attempt) },
    initContainers: ['source', 'image'],
    containers: ['result'],
  };
  await world.node.makePod(pod);
  return {
    ...pod,
    print: (step: string, ...lines: string[]) =>
      world.node.print(pod.namespace, pod.name, step, lines.map((line) => `${line}\n`).join('')),
    set: (states: Parameters<LogWorld['node']['set']>[1]) => world.node.set(pod, states),
  };
}

test('returns lines during the build, masked and in order, and follows them to their end', async () => {
  const of = await building({ secrets: [{ name: 'TOKEN', value: SECRET }] });
  const stream = await world.follow(world.owner, `${pathOf(of)}?follow=true`);
  const pod = await podOf(of);
  pod.print('source', 'cloning ä🚢', `with ${SECRET} and postgres://a:pass@db/x`);
  await pod.set({ source: 'runs', image: 'waits', result: 'waits' });
  await until('the first lines', async () => (stream.lines.length >= 2 ? true : undefined));
  expect((await page(of)).complete).toBe(false);
  pod.print('source', 'done');
  pod.print('image', ...numbered(50));
  await pod.set({ source: 'ended', image: 'runs', result: 'waits' });
  await until('the lines of image', async () => (stream.lines.length >= 53 ? true : undefined));
  pod.print('image', 'built\u0000');
  pod.print('result', 'told');
  await pod.set({ source: 'ended', image: 'ended', result: 'ended' });
  await over(of);
  await stream.ended;
  const expected = [
    'source: cloning ä🚢',
    'source: with *** and postgres://a:***@db/x',
    'source: done',
    ...numbered(50).map((line) => `image: ${line}`),
    'image: built',
    'result: told',
  ];
  const whole = await page(of);
  const printed = world.berth('revisions', 'build-logs', of.name, '--follow');
  await printed.ended;
  expect(printed.lines).toEqual(expected.map((line) => line.replace(': ', ' | ')));
  expect(texts(whole)).toEqual(expected);
  expect(whole).toMatchObject({ offset: expected.length, complete: true });
  expect(stream.lines.slice(0, -1)).toEqual(whole.resources);
  expect(stream.lines.at(-1)).toEqual({ end: 'The log of the build is complete.', reason: 'complete' });
  expect(whole.resources.every(({ at, attempt }) => attempt === 1 && !Number.isNaN(Date.parse(at)))).toBe(
    true,
  );
  const [row] = await world.api.store.sql<{ n: number }>(
    `SELECT count(*)::int AS n FROM build_logs WHERE lines::text LIKE '%${SECRET}%'`,
  );
  expect(row?.n).toBe(0);
});

test('returns the same lines in pages of any size, and none for a revision without a build', async () => {
  const of = await building();
  const pod = await podOf(of);
  pod.print('source', ...numbered(25));
  await pod.set({ source: 'ended', image: 'ended', result: 'ended' });
  await until('all of it', async () => ((await page(of)).resources.length === 25 ? true : undefined));
  await over(of);
  const found: string[] = [];
  let last: Page = await page(of, '?limit=7');
  for (; !last.complete; last = await page(of, `?limit=7&offset=${last.offset}`)) found.push(...texts(last));
  expect([...found, ...texts(last)]).toEqual(numbered(25).map((line) => `source: ${line}`));
  expect(await page(of, '?offset=1000')).toEqual({ resources: [], offset: 1000, complete: true });
  expect(await page(await world.deploy())).toEqual({ resources: [], offset: 0, complete: true });
});

test('returns no lines to another tenant, and rejects invalid parameters', async () => {
  const of = await building();
  const stranger = await world.api.tenant();
  expect((await stranger.call('GET', pathOf(of))).status).toBe(404);
  expect((await stranger.call('GET', `${pathOf(of)}?follow=true`)).status).toBe(404);
  for (const query of ['limit=0', 'limit=1001', 'offset=-1', 'follow=yes', 'x=1'])
    expect((await world.owner.call('GET', `${pathOf(of)}?${query}`)).status, query).toBe(422);
});

test('neither loses nor repeats a line when a listener stops in the middle or its hub is unavailable', async () => {
  const of = await building();
  const pod = await podOf(of);
  pod.print('source', ...numbered(10));
  await pod.set({ source: 'runs', image: 'waits', result: 'waits' });
  await until('ten lines', async () => ((await page(of)).resources.length === 10 ? true : undefined));
  await running.stop();
  pod.print('source', ...numbered(10, 10));
  await pod.set({ source: 'ended', image: 'runs', result: 'waits' });
  pod.print('image', 'a');
  // Responses get lost, before and after the hub has processed the request.
  let calls = 0;
  const flaky = (hub: HubClient): HubClient => ({
    ...hub,
    buildLogs: async (piece, options) => {
      calls += 1;
      if (calls % 3 === 0) throw new Error('the hub is away');
      const answer = await hub.buildLogs(piece, options);
      if (calls % 3 === 1) throw new Error('the answer was lost');
      return answer;
    },
  });
  running = await world.startListener(flaky);
  await until('the lines of image', async () =>
    texts(await page(of)).includes('image: a') ? true : undefined,
  );
  pod.print('image', 'b');
  await pod.set({ source: 'ended', image: 'ended', result: 'ended' });
  await over(of);
  const whole = await until('its end', async () => {
    const found = await page(of);
    return found.complete ? found : undefined;
  });
  const lines = numbered(20).map((line) => `source: ${line}`);
  expect(texts(whole)).toEqual([...lines, 'image: a', 'image: b']);
  await running.stop();
  running = await world.startListener();
});

test('reports the end of a log as lost when its pod is deleted before it was read', async () => {
  const of = await building();
  const pod = await podOf(of);
  pod.print('source', 'one');
  await pod.set({ source: 'runs', image: 'waits', result: 'waits' });
  await until('its line', async () => ((await page(of)).resources.length === 1 ? true : undefined));
  await kubectlAsAdmin(['delete', 'pod', pod.name, '-n', pod.namespace, '--force', '--grace-period=0']);
  const lost = await until('its last line', async () => {
    const found = await page(of);
    return found.resources.length > 1 ? found : undefined;
  });
  expect(texts(lost)).toEqual(['source: one', expect.stringMatching(/^source: … .* lost/)]);
});

test('ends a log that is too long with a notice, and stops reading it', async () => {
  const of = await building();
  const pod = await podOf(of);
  pod.print('source', ...numbered(KEPT_LOG.lines + 500));
  await pod.set({ source: 'ended', image: 'runs', result: 'waits' });
  const end = await until('its bound', async () => {
    const found = await page(of, `?offset=${KEPT_LOG.lines - 1}`);
    return found.resources.length === 2 ? found : undefined;
  });
  expect(texts(end)).toEqual([`source: line ${KEPT_LOG.lines - 1}`, `source: ${LEFT_OUT}`]);
});

test('identifies pieces by their first line, and rejects those of an old epoch or an unknown revision', async () => {
  const of = await building();
  const [row] = await world.api.store.sql<{ epoch: number }>(
    'SELECT lease_epoch AS epoch FROM listeners WHERE id = $1',
    [PLATFORM_LISTENER_ID],
  );
  const epoch = row?.epoch ?? 0;
  const platform = await world.api.client(null, ['listeners:run']);
  const send = (first_line: number, lines: string[], more: object = {}) =>
    platform.call('POST', `/v2/listeners/${PLATFORM_LISTENER_ID}/build-logs`, {
      epoch,
      revision_id: of.latest_revision_id,
      attempt: 1,
      first_line,
      lines: lines.map((text) => ({ at: '2026-11-21T10:00:00Z', step: 'source', text })),
      ...more,
    });
  expect((await send(1, ['b'])).body).toEqual({ next_line: 0, full: false });
  expect((await send(0, ['a', 'b'])).body).toEqual({ next_line: 2, full: false });
  expect((await send(1, ['b', 'c'])).body).toEqual({ next_line: 3, full: false });
  expect((await send(0, ['z'], { attempt: 2, last: true })).body).toEqual({ next_line: 1, full: true });
  expect((await send(3, ['late'])).body).toMatchObject({ full: true });
  expect((await send(0, ['z'], { attempt: 3 })).body).toEqual({ next_line: 1, full: false });
  expect(texts(await page(of))).toEqual(['a', 'b', 'c', 'z', 'z'].map((text) => `source: ${text}`));
  expect((await send(0, [], { epoch: epoch - 1 })).status).toBe(409);
  expect((await send(0, [], { revision_id: of.id })).body).toEqual({ next_line: 0, full: true });
  const both = await Promise.all([send(1, ['x'], { attempt: 3 }), send(1, ['x'], { attempt: 3 })]);
  expect(both.map(({ body }) => body['next_line'])).toEqual([2, 2]);
  expect((await page(of)).resources).toHaveLength(6);
});

test('keeps only the logs of the newest builds of a deployment', async () => {
  const of = await building();
  const { store } = world.api;
  await store.sql(
    `INSERT INTO revisions (id, tenant_id, deployment_id, number, status, source_revision_config)
     SELECT gen_random_uuid(), tenant_id, deployment_id, number + n, 'BUILD_FAILED', source_revision_config
     FROM revisions, generate_series(1, $2::int) AS n WHERE id = $1`,
    [of.latest_revision_id, KEPT_BUILD_LOGS + 2],
  );
  await store.sql(
    `INSERT INTO build_logs (tenant_id, revision_id, first_line, lines)
     SELECT tenant_id, id, 0, '[]' FROM revisions WHERE deployment_id = $1`,
    [of.id],
  );
  while ((await store.database.platform.transaction(pruneBuildLogs)) > 0);
  const kept = await store.sql<{ number: number }>(
    `SELECT r.number FROM build_logs b JOIN revisions r ON r.id = b.revision_id WHERE r.deployment_id = $1
     ORDER BY r.number`,
    [of.id],
  );
  expect(kept.map(({ number }) => number)).toEqual(
    Array.from({ length: KEPT_BUILD_LOGS }, (_, index) => index + 4),
  );
});

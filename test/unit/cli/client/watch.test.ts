import { describe, expect, test } from 'vitest';
import type { Deployment } from '../../../../src/cli/client/api.gen.ts';
import { ApiProblem } from '../../../../src/cli/client/call-problem.ts';
import type { Client } from '../../../../src/cli/client/client.ts';
import type { Context } from '../../../../src/cli/client/context.ts';
import { watch, watchDeletion } from '../../../../src/cli/client/watch.ts';
import { deletionMessage } from '../../../../src/domain/deployment/deletion.ts';

const REVISION = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';

/** A deployment that is READY, with the changes of a test. */
function deployment(more: Partial<Deployment> = {}, progressing = 'RolloutComplete', ready = 'True') {
  const condition = (type: string, status: string, reason: string) => ({
    type,
    status,
    reason,
    message: `what ${reason} means`,
    lastTransitionTime: '2026-01-15T09:30:00.000Z',
  });
  return {
    id: 'a',
    name: 'shop',
    status: 'READY',
    remote_reconciled: true,
    latest_revision_id: REVISION,
    active_revision_id: REVISION,
    effective_resource_spec: { max_scale: 1 },
    conditions: [condition('Progressing', 'False', progressing), condition('Ready', ready, 'Reason')],
    ...more,
  } as unknown as Deployment;
}

/** The API returns these deployments one after the other, and the last one again. An error is thrown. */
function contextOf(answers: readonly (Deployment | Error)[], revisionStatus = 'DEPLOYED') {
  const notes: string[] = [];
  const left = [...answers];
  const GET = async (path: string) => {
    if (path.endsWith('/{revision_id}')) return { number: 1, status: revisionStatus };
    if (path.endsWith('/explain')) return { summary: 'It serves.', remedy: { text: 'Ask for less.' } };
    const answer = left.length > 1 ? left.shift() : left[0];
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const context: Context = {
    client: { GET } as unknown as Client,
    format: 'table',
    print: () => undefined,
    note: (text) => void notes.push(text),
    stopped: new AbortController().signal,
  };
  return { context, notes };
}

test.each(['RolledBack', 'RolloutFailed'])(
  'reports a failure when a change of source_config ended as %s',
  async (reason) => {
    const { context } = contextOf([deployment({}, reason, 'False')]);
    expect(await watch(context, 'a', 60)).toEqual({
      end: 'failed',
      message: `revision 1: DEPLOYED. It serves.\n${reason}: what ${reason} means\nAsk for less.`,
      next: 'revisions explain',
    });
  },
);

test('reports a failure when the first build failed, and success when nothing has to run', async () => {
  const unused = { status: 'UNUSED', active_revision_id: null } as const;
  const built = contextOf([deployment(unused, 'None', 'False')], 'BUILD_FAILED');
  expect(await watch(built.context, 'a', 60)).toMatchObject({
    end: 'failed',
    message: expect.stringMatching(/^revision 1: BUILD_FAILED\./),
  });
  const off = { ...unused, effective_resource_spec: { max_scale: 0 } } as Partial<Deployment>;
  for (const meant of [off, { ...unused, latest_revision_id: null }]) {
    const { context } = contextOf([deployment(meant, 'None', 'False')]);
    expect(await watch(context, 'a', 60)).toMatchObject({ end: 'reached' });
  }
});

const OFF = {
  status: 'UNUSED',
  active_revision_id: null,
  effective_resource_spec: { max_scale: 0 },
} as Partial<Deployment>;

test.each([
  ['BUILD_FAILED', 'failed', /^revision 1: BUILD_FAILED/],
  ['SKIPPED', 'failed', /^revision 1: SKIPPED/],
  ['BUILDING', 'failed', /^timed out/],
  ['AWAITING_BUILD', 'failed', /^timed out/],
  ['CREATING', 'failed', /^timed out/],
  ['QUEUED', 'reached', /is UNUSED/],
  ['DEPLOYED', 'reached', /is UNUSED/],
])('ends a wait with scale 0 when the revision is %s: %s', async (status, end, message) => {
  const { context } = contextOf([deployment(OFF, 'None', 'False')], status);
  expect(await watch(context, 'a', 0.2)).toMatchObject({ end, message: expect.stringMatching(message) });
});

test('fails when the deployment is deleted during the wait', async () => {
  const going = contextOf([deployment({ status: 'AWAITING_DELETE' })]);
  expect(await watch(going.context, 'a', 60)).toEqual({
    end: 'failed',
    message: 'shop is being deleted',
    next: 'restore',
  });
  const gone = contextOf([new ApiProblem(404, '404: There is no such deployment.')]);
  expect(await watch(gone.context, 'a', 60)).toMatchObject({
    end: 'failed',
    message: 'the deployment was deleted during the wait',
  });
});

describe('a wait for a deletion', () => {
  const going = (message: string) =>
    deployment({
      status: 'AWAITING_DELETE',
      conditions: [{ type: 'Ready', status: 'False', reason: 'Deleting', message }] as never,
    });

  test('succeeds when the deployment is gone', async () => {
    const asked = deletionMessage('2026-01-15T09:30:00.000Z', '2026-01-15T09:30:00.000Z');
    const { context, notes } = contextOf([going(asked), new ApiProblem(404, '404')]);
    expect(await watchDeletion(context, 'a', 60)).toMatchObject({ end: 'reached' });
    expect(notes).toHaveLength(1);
  });

  test('fails at once when the grace period is longer than the timeout', async () => {
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const { context } = contextOf([going(deletionMessage(new Date().toISOString(), until))]);
    expect(await watchDeletion(context, 'a', 60)).toEqual({
      end: 'failed',
      message: `shop is deleted after its grace period, which ends at ${until}, after the timeout of the wait`,
      next: 'restore',
    });
  });

  test('fails when the deletion is cancelled', async () => {
    const { context } = contextOf([deployment()]);
    expect(await watchDeletion(context, 'a', 60)).toMatchObject({
      end: 'failed',
      message: 'shop is READY: its deletion was cancelled',
    });
  });
});

test('names the command that continues the wait when the user interrupts it', async () => {
  const stopped = new AbortController();
  const { context } = contextOf([deployment({ active_revision_id: null })], 'QUEUED');
  const interrupted = { ...context, note: () => stopped.abort(), stopped: stopped.signal };
  expect(await watch(interrupted, 'a', 60)).toMatchObject({
    message: expect.stringMatching(/^stopped: shop/),
    next: 'deployments watch',
  });
});

test('ignores how an earlier generation ended', async () => {
  const { context } = contextOf([
    deployment({ remote_reconciled: false }, 'RolledBack', 'False'),
    deployment(),
  ]);
  expect(await watch(context, 'a', 60)).toMatchObject({ end: 'reached' });
});

test('waits while a change of source_config rolls out, although the revision is active', async () => {
  const { context, notes } = contextOf([deployment({}, 'RolloutInProgress', 'False'), deployment()]);
  expect(await watch(context, 'a', 60)).toMatchObject({ end: 'reached' });
  expect(notes).toHaveLength(1);
});

test.each([null, 429, 502, 503, 504])('waits during an outage (%s), and reports it once', async (status) => {
  const outage = new ApiProblem(status, 'not reachable');
  const { context, notes } = contextOf([outage, outage, deployment()]);
  expect(await watch(context, 'a', 60)).toMatchObject({ end: 'reached' });
  expect(notes).toEqual(['not reachable; still waiting']);
});

test('returns an unknown outcome when the API does not respond until the timeout', async () => {
  const { context } = contextOf([new ApiProblem(503, '503: busy')]);
  expect(await watch(context, 'a', 0.5)).toEqual({
    end: 'unknown',
    message: 'timed out: not settled after 0.5 seconds: 503: busy',
    next: 'deployments watch',
  });
});

test('ends when the API rejects the request', async () => {
  const { context } = contextOf([new ApiProblem(401, '401: no key')]);
  await expect(watch(context, 'a', 60)).rejects.toThrow('401: no key');
});

const OTHER = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a78';

test('waits for the given revision while another one is active', async () => {
  const { context } = contextOf([deployment({ latest_revision_id: OTHER })], 'QUEUED');
  expect(await watch(context, 'a', 0.2, OTHER)).toMatchObject({
    end: 'failed',
    message: expect.stringContaining('timed out'),
  });
});

test('ends when the given revision is active, although a newer one is in progress', async () => {
  const { context } = contextOf([deployment({ latest_revision_id: OTHER })]);
  expect(await watch(context, 'a', 60, REVISION)).toEqual({
    end: 'reached',
    message: 'shop is READY with this revision active; a newer revision is in progress',
    next: null,
  });
});

test('ends when the given revision was deployed and a newer one has replaced it', async () => {
  const newer = { latest_revision_id: OTHER, active_revision_id: OTHER };
  const { context } = contextOf([deployment(newer)]);
  expect(await watch(context, 'a', 60, REVISION)).toMatchObject({
    end: 'reached',
    message: 'revision 1 was deployed; a newer revision replaces it',
  });
});

test('does not take the failure of a newer revision for that of the given one', async () => {
  const newer = { latest_revision_id: OTHER, active_revision_id: OTHER };
  const { context } = contextOf([deployment(newer, 'RolledBack', 'False')], 'DEPLOYING');
  expect(await watch(context, 'a', 0.2, REVISION)).toMatchObject({
    message: expect.stringContaining('timed out'),
  });
});

test.each(['DEPLOY_FAILED', 'SKIPPED', 'INTERRUPTED', 'BUILD_FAILED'])(
  'reports a failure when the given revision ends as %s, although another one is READY',
  async (status) => {
    const { context } = contextOf([deployment()], status);
    expect(await watch(context, 'a', 60, OTHER)).toMatchObject({ end: 'failed' });
  },
);

test('names the component, pod, container, exit code and message of a failure', async () => {
  const { context } = contextOf([deployment({ active_revision_id: null })], 'DEPLOY_FAILED');
  const { client } = context;
  const causes = [
    { reason: 'RolloutFailed', message: 'It failed.', object: null },
    {
      reason: 'CrashLoop',
      message: 'the process ended: no such file',
      object: { component: 'api', kind: 'Pod', object: 'shop-api-1', container: 'app', exit_code: 127 },
    },
    { reason: 'Other', message: 'What followed.', object: {} },
  ];
  const GET = async (path: string, options: unknown) =>
    path.endsWith('/explain')
      ? { summary: 'It failed.', remedy: null, causes }
      : await client.GET(path as never, options as never);
  const { message } = await watch({ ...context, client: { ...client, GET } as never }, 'a', 60);
  expect(message).toBe(
    'revision 1: DEPLOY_FAILED. It failed.\nCrashLoop: component api, Pod shop-api-1, container app, exit code 127: the process ended: no such file',
  );
});

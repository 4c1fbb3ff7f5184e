import { describe, expect, test } from 'vitest';
import { judgeBuild } from '../../../../../src/cluster/operator/builds/judge-build.ts';
import type { ObservedJob } from '../../../../../src/cluster/operator/builds/observed-build.ts';
import type { ObservedPod, ObservedResource } from '../../../../../src/cluster/operator/observed.ts';
import type { BuildStatus } from '../../../../../src/contract/resource/build.ts';
import { buildName, formerBuildName } from '../../../../../src/contract/resource/names.ts';
import { buildJob } from '../../../../../src/workloads/objects/build-job.ts';
import { lostStatus } from '../../../../cluster/build-node/pod-status.ts';
import {
  buildOf,
  COMMIT,
  CONFIG,
  DIGEST,
  ended,
  jobOf,
  NOW,
  podWith,
  REPOSITORY,
  resourceWith,
  runs,
  seconds,
  succeeded,
} from './fixtures.ts';

function judge(resource: ObservedResource, jobs: ObservedJob[] = [], pods: ObservedPod[] = [], now = NOW) {
  return judgeBuild(resource, buildOf(resource), { jobs, pods, refusal: null }, 1800, now);
}

const shop = resourceWith();
const job = jobOf(shop);
const seen = (states: Parameters<typeof podWith>[1], status: object = {}, deleted?: number) =>
  judge(shop, [job], [podWith(job, states, status, deleted)]);
const runningStatus: BuildStatus = {
  revisionId: 'r1',
  number: 1,
  phase: 'Running',
  attempt: 1,
  job: job.metadata.name,
  startTime: NOW.toISOString(),
  step: 'image',
};

describe('a build in progress', () => {
  test('starts at once if it has no Job yet', () => {
    expect(judge(shop)).toMatchObject({
      status: { phase: 'Waiting', attempt: 1 },
      start: { attempt: 1, notBefore: 0 },
    });
  });

  test('is Running with its step if its Job exists', () => {
    expect(judge(shop, [job]).status).toMatchObject({ phase: 'Running', job: job.metadata.name });
    expect(seen({ source: runs }).status.step).toBe('source');
    expect(seen({ source: ended(0), image: runs }).status.step).toBe('image');
    expect(seen({ source: ended(0), image: ended(0), result: runs }).status.step).toBe('result');
    expect(seen({ source: runs }).start).toBeNull();
  });

  test('reports what keeps it from running', () => {
    const waiting = { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } };
    expect(seen({ source: waiting }).status.message).toBe(
      'the step source does not start: ImagePullBackOff: no such image',
    );
    const conditions = [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' },
    ];
    expect(seen({}, { conditions }).status.message).toBe('no node takes the pod of the build: 0/3 nodes');
  });

  test('ignores a Job of another revision of the deployment', () => {
    const other = jobOf(resourceWith({ revisionId: 'r0' }));
    expect(judge(shop, [other]).status.phase).toBe('Waiting');
  });
});

describe('a final status', () => {
  test('is Succeeded with digest and commit', () => {
    expect(seen(succeeded).status).toMatchObject({
      phase: 'Succeeded',
      image: `${REPOSITORY}@${DIGEST}`,
      commit: COMMIT,
    });
  });

  test('has the commands of the Procfile when the result has them', () => {
    const procfile = { web: 'node server.js' };
    const message = JSON.stringify({ commit: COMMIT, digest: DIGEST, procfile });
    expect(seen({ ...succeeded, result: ended(0, message) }).status).toMatchObject({
      phase: 'Succeeded',
      procfile,
    });
    expect(seen(succeeded).status).not.toHaveProperty('procfile');
  });

  test('contains the failure message of a step of Berth unchanged', () => {
    const message = JSON.stringify({ reason: 'RefNotFound', message: 'no branch main' });
    expect(seen({ source: ended(1, message) }).status).toMatchObject({
      phase: 'Failed',
      step: 'source',
      reason: 'RefNotFound',
      message: 'no branch main',
    });
  });

  test('contains the last output of BuildKit without credentials', () => {
    const log =
      '#9 RUN npm ci\npassword=hunter22\nerror: failed to solve: process "/bin/sh -c npm ci": exit code: 1';
    const { status } = seen({ source: ended(0), image: ended(1, log) });
    expect(status).toMatchObject({ phase: 'Failed', step: 'image', reason: 'BuildFailed' });
    expect(status.message).toContain('the step image ended with exit code 1: #9 RUN npm ci');
    expect(status.message).not.toContain('hunter22');
  });

  test.each([
    [
      'error: failed to solve: failed to push r/x: unexpected status from PUT request: 401 Unauthorized',
      'RegistryRefused',
    ],
    ['error: failed to solve: process "curl https://x" failed: connection refused', 'BuildFailed'],
  ])('has for the output "%s" the reason %s', (log, reason) => {
    expect(seen({ source: ended(0), image: ended(1, log) }).status).toMatchObject({
      phase: 'Failed',
      reason,
    });
  });

  test('is BuildTooLarge for too much memory or disk, without a retry', () => {
    expect(seen({ source: ended(0), image: ended(137, '', 'OOMKilled') }).status.reason).toBe(
      'BuildTooLarge',
    );
    const message = 'Usage of EmptyDir volume "workspace" exceeds the limit "10Gi".';
    const evicted = seen({}, { phase: 'Failed', reason: 'Evicted', message });
    expect(evicted).toMatchObject({ status: { phase: 'Failed', reason: 'BuildTooLarge' }, start: null });
  });

  test('names the last step after a timeout', () => {
    const late = jobOf(shop, { end: ['Failed', 'DeadlineExceeded'] });
    const { status } = judge(resourceWith({ status: runningStatus }), [late]);
    expect(status).toMatchObject({ phase: 'Failed', reason: 'BuildTimeout', step: 'image' });
    expect(status.message).toBe('the build took longer than 1800 s, in the step image');
  });

  test.each(['Succeeded', 'Failed'] as const)('stays %s whatever happens to the Job', (phase) => {
    const last: BuildStatus = { ...runningStatus, phase, completionTime: 'then' };
    const judged = resourceWith({ status: last });
    expect(judge(judged)).toEqual({ status: last, start: null, recheckAt: null });
    expect(judge(judged, [job], [podWith(job, { source: runs })]).status).toEqual(last);
  });

  test('does not apply to another revision', () => {
    const judged = resourceWith({ status: { ...runningStatus, revisionId: 'r0', phase: 'Failed' } });
    expect(judge(judged).start).toMatchObject({ attempt: 1 });
  });
});

describe('a build with a temporary failure', () => {
  const passing: [string, Parameters<typeof podWith>[1], object][] = [
    ['the git host is down', { source: ended(1, '{"reason":"GitHostUnavailable","message":"m"}') }, {}],
    [
      'the registry is down',
      {
        source: ended(0),
        image: ended(1, 'error: failed to push r/x: unexpected status: 503 Service Unavailable'),
      },
      {},
    ],
    [
      'its pod was evicted',
      { source: runs },
      { phase: 'Failed', reason: 'Evicted', message: 'low on memory' },
    ],
    [
      'its node was lost',
      { source: runs },
      { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' }] },
    ],
  ];
  test.each(passing)('is retried when %s', (_, states, status) => {
    const judged = seen(states, status);
    expect(judged.status).toMatchObject({ phase: 'Waiting', attempt: 2 });
    expect(judged.status.message).toContain('attempt 1 of 3 failed: ');
    expect(judged.start).toEqual({ attempt: 2, notBefore: NOW.getTime() + 10_000 });
  });

  const LOST_PODS: [string, Parameters<typeof podWith>[1], object][] = [
    ['Terminated', { source: ended(0), image: ended(137) }, { reason: 'Terminated', message: 'm' }],
    ['NodeLost', { source: ended(0) }, { reason: 'NodeLost', message: 'Error: ENOSPC' }],
    ['UnexpectedAdmissionError', {}, { reason: 'UnexpectedAdmissionError', message: 'no volumes' }],
    ['ContainerStatusUnknown', { image: ended(137, 'not located', 'ContainerStatusUnknown') }, {}],
    ['Unknown', { source: ended(0), image: ended(255, '', 'Unknown') }, {}],
    ['StartError', { source: ended(128, 'no space left on device', 'StartError') }, {}],
    ['without a reason', { source: ended(0) }, {}],
  ];
  test.each(LOST_PODS)('if the node or the pod is lost: %s', (named, states, status) => {
    const over = jobOf(shop, { end: ['Failed', 'BackoffLimitExceeded'] });
    const judged = judge(shop, [over], [podWith(over, states, { phase: 'Failed', ...status })]);
    expect(judged).toMatchObject({
      status: { phase: 'Waiting', attempt: 2, reason: 'BuildLost' },
      start: { attempt: 2 },
    });
    expect(judged.status.message).toContain(named);
  });

  test('if the build node was killed and reports that in the pod', () => {
    const pod = podWith(job, { source: ended(0), image: { running: {} } });
    const restarted = { reason: 'NodeLost', message: 'the node was restarted' };
    const status = lostStatus(pod as unknown as Parameters<typeof lostStatus>[0], restarted, 'now');
    for (const over of [job, jobOf(shop, { end: ['Failed', 'BackoffLimitExceeded'] })]) {
      expect(judge(shop, [over], [podWith(over, {}, status)]).status).toMatchObject({
        phase: 'Waiting',
        attempt: 2,
        reason: 'BuildLost',
        message: expect.stringContaining('NodeLost: the node was restarted') as string,
      });
    }
  });

  test('is retried when its pod was deleted or is gone and its Job has ended', () => {
    const ended = jobOf(shop, { end: ['Failed', 'BackoffLimitExceeded'] });
    expect(judge(shop, [ended], [podWith(ended, { source: runs }, {}, 30)]).status).toMatchObject({
      phase: 'Waiting',
      attempt: 2,
      reason: 'BuildLost',
    });
    const gone = jobOf(shop, { end: ['Failed', 'BackoffLimitExceeded', -10] });
    expect(judge(shop, [gone]).status).toMatchObject({ attempt: 2, reason: 'BuildLost' });
  });

  test('is not retried before its Job ends when its pod is being deleted', () => {
    expect(seen({ source: runs }, {}, 30)).toMatchObject({ status: { phase: 'Running' }, start: null });
    const late = jobOf(shop, { end: ['Failed', 'DeadlineExceeded'] });
    expect(judge(shop, [late], [podWith(late, { source: runs }, {}, 30)]).status.reason).toBe('BuildTimeout');
  });

  test('is retried when a user deleted its Job', () => {
    expect(judge(resourceWith({ status: runningStatus }))).toMatchObject({
      status: { phase: 'Waiting', attempt: 2, reason: 'BuildLost' },
      start: { attempt: 2 },
    });
  });

  test('is retried when it has ended and its result was lost', () => {
    const done = jobOf(shop, { end: ['Complete', 'CompletionsReached', -10] });
    expect(judge(shop, [done]).status).toMatchObject({ attempt: 2, reason: 'BuildLost' });
    const mute = podWith(done, { ...succeeded, result: ended(0, '') }, { phase: 'Succeeded' });
    expect(judge(shop, [done], [mute]).status).toMatchObject({ attempt: 2, reason: 'BuildLost' });
  });

  test('is not retried at once when its pod is not in the cache yet', () => {
    const done = jobOf(shop, { end: ['Failed', 'BackoffLimitExceeded', -1] });
    expect(judge(shop, [done])).toMatchObject({
      status: { phase: 'Running' },
      recheckAt: NOW.getTime() + 4000,
    });
  });

  test('fails with the reason of the third attempt', () => {
    const third = jobOf(shop, { attempt: 3 });
    const pod = podWith(third, { source: ended(1, '{"reason":"GitHostUnavailable","message":"m"}') });
    expect(judge(shop, [job, jobOf(shop, { attempt: 2 }), third], [pod])).toMatchObject({
      status: { phase: 'Failed', reason: 'GitHostUnavailable', message: 'm; tried 3 times', attempt: 3 },
      start: null,
    });
  });

  test('counts earlier attempts from the status and the Jobs', () => {
    const second = resourceWith({
      status: { ...runningStatus, phase: 'Waiting', attempt: 2, reason: 'BuildLost' },
    });
    expect(judge(second)).toMatchObject({ start: { attempt: 2 }, status: { reason: 'BuildLost' } });
    expect(judge(shop, [jobOf(shop, { attempt: 2 })]).status).toMatchObject({ phase: 'Running', attempt: 2 });
  });
});

describe('a build that does not start', () => {
  const waits = (message?: string) => ({
    source: { waiting: { reason: 'PodInitializing', ...(message === undefined ? {} : { message }) } },
  });
  const conditions = (ready?: string) => ({
    phase: 'Pending',
    conditions: [
      { type: 'PodScheduled', status: 'True', lastTransitionTime: NOW.toISOString() },
      ...(ready === undefined ? [] : [{ type: 'PodReadyToStartContainers', status: ready }]),
    ],
  });
  const waited = (passed: number, states = waits(), status: object = conditions('False')) =>
    judge(shop, [job], [podWith(job, states, status)], seconds(passed));

  test('is not reported for 45 s, and is checked again then', () => {
    const judged = waited(44);
    expect(judged.status).not.toHaveProperty('message');
    expect(judged.recheckAt).toBe(seconds(45).getTime());
  });

  test('reports after 45 s what it waits for, and requests its Secret', () => {
    const judged = waited(45);
    expect(judged).toMatchObject({
      status: { phase: 'Running', reason: 'BuildLost' },
      recheckAt: seconds(180).getTime(),
    });
    expect(judged.status.message).toContain(`check that the Secret ${buildOf(shop).secretName} exists`);
    expect(waited(45, waits('secret "x" not found'), conditions()).status.message).toMatch(
      /not ready: secret "x" not found$/,
    );
  });

  test.each([
    ['its volumes are missing', waits(), conditions('False')],
    ['the build node reports it', waits('secret "x" not found'), conditions()],
  ])('is lost after 180 s and retried when %s', (_, states, status) => {
    expect(waited(179, states, status).start).toBeNull();
    expect(waited(180, states, status)).toMatchObject({
      status: { phase: 'Waiting', attempt: 2, reason: 'BuildLost' },
      start: { attempt: 2 },
    });
  });

  test('continues to wait if an image is being pulled or no missing volume is reported', () => {
    expect(waited(1000, waits(), conditions('True')).status).toMatchObject({
      phase: 'Running',
      message: 'it has not started within 45 s: the image of its first step is being pulled',
    });
    expect(waited(1000, waits(), conditions('True')).status).not.toHaveProperty('reason');
    expect(waited(1000, waits(), conditions()).status.phase).toBe('Running');
  });

  test('reports that its Job has no pod', () => {
    expect(judge(shop, [job], [], seconds(45)).status.message).toBe(
      `it has not started within 45 s: its Job ${job.metadata.name} has no pod`,
    );
  });

  test('reports what it waited for if it times out', () => {
    const { status } = waited(1000, waits(), conditions('True'));
    const late = jobOf(shop, { end: ['Failed', 'DeadlineExceeded', 1800] });
    expect(judge(resourceWith({ status }), [late], [], seconds(1801)).status.message).toContain(
      'being pulled',
    );
  });
});

test('never builds a resource that names the Secret of another build', () => {
  const thief = resourceWith();
  const build = { ...buildOf(thief), secretName: 'another-secret' };
  const judged = judgeBuild(thief, build, { jobs: [], pods: [], refusal: null }, 1800, seconds(0));
  expect(judged).toMatchObject({ status: { phase: 'Waiting', reason: 'Refused' }, start: null });
});

describe('a build with the 64-bit hash in its name, as earlier hubs generated it', () => {
  const asked = resourceWith();
  const { revisionId } = buildOf(asked);
  const build = { ...buildOf(asked), secretName: formerBuildName(asked.metadata, revisionId) };

  test('is built, and mounts the Secret with the 128-bit name', () => {
    const judged = judgeBuild(asked, build, { jobs: [], pods: [], refusal: null }, 1800, seconds(0));
    expect(judged.start).toMatchObject({ attempt: 1 });
    const job = JSON.stringify(buildJob(asked, build, CONFIG, 1));
    expect(job).toContain(`"secretName":"${buildName(asked.metadata, revisionId)}"`);
    expect(job).not.toContain(`"${build.secretName}"`);
  });

  test('continues with the Job that the earlier version created', () => {
    const made = jobOf(asked);
    const job = { ...made, metadata: { ...made.metadata, name: build.secretName } };
    const judged = judgeBuild(asked, build, { jobs: [job], pods: [], refusal: null }, 1800, seconds(1));
    expect(judged).toMatchObject({ status: { phase: 'Running', job: build.secretName }, start: null });
  });

  test('is rejected for another namespace, name or revision', () => {
    const elsewhere = { namespace: 'berth-other', name: asked.metadata.name };
    const names = [formerBuildName(elsewhere, revisionId), formerBuildName(asked.metadata, 'r-other')];
    for (const secretName of names) {
      const judged = judgeBuild(
        asked,
        { ...build, secretName },
        { jobs: [], pods: [], refusal: null },
        1800,
        seconds(0),
      );
      expect(judged).toMatchObject({ status: { reason: 'Refused' }, start: null });
    }
  });
});

import { describe, expect, test } from 'vitest';
import { decideBuilds, type WantedBuild } from '../../../../../src/cluster/operator/builds/decide-builds.ts';
import { judgeBuild } from '../../../../../src/cluster/operator/builds/judge-build.ts';
import type { ObservedJob } from '../../../../../src/cluster/operator/builds/observed-build.ts';
import type { ObservedPod, ObservedResource } from '../../../../../src/cluster/operator/observed.ts';
import type { BuildStatus } from '../../../../../src/contract/resource/build.ts';
import { buildOf, ended, jobOf, NOW, podWith, resourceWith, runs, seconds, succeeded } from './fixtures.ts';

interface World {
  resources: ObservedResource[];
  jobs?: ObservedJob[];
  pods?: ObservedPod[];
  limits?: { total: number; perTenant: number };
}

function decide({ resources, jobs = [], pods = [], limits = { total: 10, perTenant: 2 } }: World) {
  const wanted = resources
    .filter(({ spec }) => spec.build !== undefined)
    .map((resource): WantedBuild => {
      const of = (object: { metadata: { labels?: Record<string, string> } }) =>
        object.metadata.labels?.['app.kubernetes.io/instance'] === resource.metadata.name;
      const observed = { jobs: jobs.filter(of), pods: pods.filter(of), refusal: null };
      const judgement = judgeBuild(resource, buildOf(resource), observed, 1800, NOW);
      return { key: `team/${resource.metadata.name}`, resource, build: buildOf(resource), judgement };
    });
  const { actions } = decideBuilds({
    wanted,
    jobs,
    pods,
    resourceOf: (job) =>
      resources.find(({ metadata }) => metadata.name === job.metadata.labels?.['app.kubernetes.io/instance']),
    limits,
    now: NOW,
  });
  return actions.map((action) =>
    action.kind === 'create'
      ? `create ${action.wanted.resource.metadata.name} ${action.attempt}`
      : `delete ${action.job.metadata.name}: ${action.reason}`,
  );
}

describe('build slots', () => {
  test.each([10, 0])('go to three tenants in turn when builds start %i s apart', (apart) => {
    const of = (tenant: string, count: number) =>
      Array.from({ length: count }, (_, index) =>
        resourceWith({
          name: `${tenant}-${index}`,
          tenant,
          revisionId: `${tenant}-${String(index).padStart(2, '0')}`,
        }),
      );
    let waiting = [...of('a', 14), ...of('b', 3), ...of('c', 3)];
    let jobs: ObservedJob[] = [];
    const begun: string[] = [];
    for (let at = 0; waiting.length > 0; at += 1) {
      const made = decide({ resources: waiting, jobs, limits: { total: 2, perTenant: 2 } })
        .filter((action) => action.startsWith('create'))
        .map((action) => action.split(' ')[1] ?? '');
      expect(made.length).toBeLessThanOrEqual(2);
      begun.push(...made);
      const builders = made.flatMap((name) => waiting.filter(({ metadata }) => metadata.name === name));
      waiting = waiting.filter((resource) => !builders.includes(resource));
      // What began ends before the next look; its Job stays a while.
      const ended = builders.map((resource, index) =>
        jobOf(resource, {
          created: at * apart + Math.sign(apart) * index,
          end: ['Complete', '', at * apart + 5],
        }),
      );
      jobs = [...jobs, ...ended];
    }
    expect(begun.slice(0, 9).map((name) => name[0])).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c']);
    expect(begun.slice(9).every((name) => name.startsWith('a'))).toBe(true);
    expect(new Set(begun).size).toBe(20);
  });

  test('are limited per tenant, and other tenants get the rest', () => {
    const mine = ['1', '2', '3'].map((n) => resourceWith({ name: `a-${n}`, tenant: 'a', revisionId: n }));
    const other = resourceWith({ name: 'b-1', tenant: 'b', revisionId: '4' });
    expect(decide({ resources: [...mine, other] })).toEqual(['create a-1 1', 'create b-1 1', 'create a-2 1']);
  });

  test('are counted per namespace, whatever tenant id the resources state', () => {
    const invented = ['1', '2', '3'].map((n) =>
      resourceWith({ name: `a-${n}`, tenant: 'a', tenantId: `invented-${n}`, revisionId: n }),
    );
    const other = resourceWith({ name: 'b-1', tenant: 'b', tenantId: 'a', revisionId: '4' });
    expect(decide({ resources: [...invented, other], limits: { total: 10, perTenant: 1 } })).toEqual([
      'create a-1 1',
      'create b-1 1',
    ]);
  });

  test('are used by a running build, also while it is being deleted', () => {
    const [one, two] = [resourceWith({ name: 'a' }), resourceWith({ name: 'b', tenant: 'u' })];
    const leaving = jobOf(one);
    leaving.metadata.deletionTimestamp = NOW.toISOString();
    expect(decide({ resources: [one, two], jobs: [leaving], limits: { total: 1, perTenant: 1 } })).toEqual(
      [],
    );
  });
});

describe('a build of a deployment', () => {
  const old = resourceWith({ revisionId: 'r1' });
  const fresh = resourceWith({ revisionId: 'r2', number: 2 });
  const job = jobOf(old);

  test('replaces the build of an older revision, and starts when that is gone', () => {
    expect(decide({ resources: [fresh], jobs: [job], pods: [podWith(job, { source: runs })] })).toEqual([
      `delete ${job.metadata.name}: a newer revision is requested`,
    ]);
    const leaving = podWith(job, { source: runs }, {}, 5);
    expect(decide({ resources: [fresh], pods: [leaving] })).toEqual([]);
    expect(decide({ resources: [fresh] })).toEqual(['create shop-1 1']);
  });

  test('starts even if a pod of an earlier build is stuck on a lost node', () => {
    const stuck = podWith(job, { source: runs }, {}, -180);
    expect(decide({ resources: [fresh], pods: [stuck] })).toEqual(['create shop-1 1']);
  });

  test('starts even if the resource of another user has the same id', () => {
    const thief = resourceWith({ name: 'thief', tenant: 'u', spec: { deploymentId: 'id-shop-1' } });
    const theirs = jobOf(thief);
    const pods = [podWith(theirs, { source: runs })];
    expect(decide({ resources: [old, thief], jobs: [theirs], pods })).toEqual(['create shop-1 1']);
  });

  test('is not started again while it runs', () => {
    expect(decide({ resources: [old], jobs: [job], pods: [podWith(job, { source: runs })] })).toEqual([]);
  });

  test('is attempted again after a pause', () => {
    const failed = jobOf(old, { end: ['Failed', 'BackoffLimitExceeded', -9] });
    expect(decide({ resources: [old], jobs: [failed] })).toEqual([]);
    const longAgo = jobOf(old, { end: ['Failed', 'BackoffLimitExceeded', -11] });
    expect(decide({ resources: [old], jobs: [longAgo] })).toEqual(['create shop-1 2']);
  });
});

describe('a Job whose pod never starts', () => {
  const stuck = (attempt: number, status?: BuildStatus) => {
    const shop = resourceWith(status === undefined ? {} : { status });
    const job = jobOf(shop, { attempt, created: -200 });
    const pod = podWith(
      job,
      { source: { waiting: { reason: 'PodInitializing' } } },
      {
        phase: 'Pending',
        conditions: [
          { type: 'PodScheduled', status: 'True', lastTransitionTime: seconds(-200).toISOString() },
          { type: 'PodReadyToStartContainers', status: 'False' },
        ],
      },
    );
    return decide({ resources: [shop], jobs: [job], pods: [pod] });
  };

  test('is deleted, whether or not another attempt follows', () => {
    expect(stuck(1)[0]).toContain('it did not start');
    expect(stuck(3)[0]).toContain('it did not start');
    const about = { revisionId: 'r1', number: 1 };
    expect(stuck(1, { ...about, phase: 'Waiting', attempt: 2, reason: 'BuildLost' })[0]).toContain(
      'it did not start',
    );
    expect(stuck(3, { ...about, phase: 'Failed', attempt: 3, reason: 'BuildLost' })[0]).toContain(
      'it did not start',
    );
  });

  test('stays if a step has failed, because users may read its log', () => {
    const shop = resourceWith();
    const job = jobOf(shop);
    const pod = podWith(job, { source: ended(1, '{"reason":"GitHostUnavailable","message":"m"}') });
    expect(decide({ resources: [shop], jobs: [job], pods: [pod] })).toEqual([]);
  });
});

describe('deleted Jobs', () => {
  const shop = resourceWith();
  const done = jobOf(shop, { end: ['Complete', '', -10] });

  test('are all Jobs of a deployment that is gone or being deleted', () => {
    expect(decide({ resources: [], jobs: [done] })).toEqual([
      `delete ${done.metadata.name}: its deployment is gone`,
    ]);
    const leaving = { ...shop, metadata: { ...shop.metadata, deletionTimestamp: seconds(0).toISOString() } };
    expect(decide({ resources: [leaving], jobs: [done] })[0]).toContain('its deployment is gone');
  });

  test('are running Jobs that are no longer needed', () => {
    const built = resourceWith({ spec: { build: undefined } });
    expect(decide({ resources: [built], jobs: [jobOf(shop)] })[0]).toContain('its image is no longer needed');
  });

  test('are not those that have ended or are about to, because users may read their logs', () => {
    const built = resourceWith({ spec: { build: undefined } });
    const ending = jobOf(shop);
    expect(decide({ resources: [built], jobs: [ending], pods: [podWith(ending, succeeded)] })).toEqual([]);
    expect(decide({ resources: [resourceWith({ spec: { build: undefined } })], jobs: [done] })).toEqual([]);
  });
});

test('starts no build while paused, and lets running ones continue', () => {
  const shop = resourceWith();
  const paused = { ...shop, metadata: { ...shop.metadata, annotations: { 'berth.dev/paused': 'true' } } };
  expect(decide({ resources: [paused] })).toEqual([]);
  expect(decide({ resources: [paused], jobs: [jobOf(shop)] })).toEqual([]);
});

/**
 * Many changes, at the worst moments. Whatever was asked, the record tells what the cluster did: what each revision ended
 * as is held against watches of the cluster and triggers in the database, which miss nothing.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { TAKEOVER_PAUSE_MS } from '../../../src/cluster/operator/rollout/rollout-gate.ts';
import { waitFor } from '../../cluster/wait.ts';
import { smallDeployment, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { type Course, History } from '../harness/history.ts';
import { type Ledger, startLedger } from '../harness/ledger.ts';
import { adminClient } from '../harness/rollouts.ts';

let berth: WholeBerth;
let client: KubeClient;
let history: History;
let ledger: Ledger;
beforeAll(async () => {
  berth = await startWholeBerth('bursts', { settings: { BERTH_RATE_LIMIT: 'off' } });
  client = await adminClient();
  [history, ledger] = await Promise.all([
    History.start(client, berth.namespace),
    startLedger(berth.databaseUrl),
  ]);
});
afterAll(async () => {
  await history?.stop();
  await ledger?.stop();
  await client?.close();
  await berth?.stop();
});

interface Revision {
  id: string;
  number: number;
  status: string;
}
interface Event {
  revision_id: string | null;
  details: { from?: string; to?: string };
}

const image = (tag: string | number) => `registry.example/shop/web:${tag}`;
const BAD = 'fail-invalid-image';
/** Far longer than it takes to overtake it, which begins when it has been left alone for TAKEOVER_PAUSE_MS. */
const SLOW = 'slow-15s';
const path = (id: string, rest = '') => `/v2/deployments/${id}${rest}`;
const secrets = (value: string) => [{ name: 'TOKEN', value }];
const patch = (id: string, tag: string | number, more: object = {}) =>
  berth.call('PATCH', path(id), { source_revision_config: { image_uri: image(tag) }, ...more });
const again = (id: string, { id: revision }: Revision, verb: 'redeploy' | 'rollback') =>
  berth.call<Revision>('POST', path(id, `/revisions/${revision}/${verb}`));

/** Oldest first. */
async function revisionsOf(id: string): Promise<Revision[]> {
  const answer = await berth.call<{ resources: Revision[] }>('GET', path(id, '/revisions?limit=100'));
  return answer.body.resources.reverse();
}
async function revision(id: string, number: number): Promise<Revision> {
  const found = (await revisionsOf(id)).find((candidate) => candidate.number === number);
  if (found === undefined) throw new Error(`there is no revision ${number}`);
  return found;
}
async function eventsOf(id: string): Promise<Event[]> {
  const all: Event[] = [];
  for (;;) {
    const url = path(id, `/events?limit=100&offset=${all.length}`);
    const { resources } = (await berth.call<{ resources: Event[] }>('GET', url)).body;
    all.push(...resources);
    if (resources.length < 100) return all.reverse();
  }
}

async function started(name: string, more: Parameters<typeof smallDeployment>[1] = {}) {
  const { id } = await berth.create(smallDeployment(name, { image: image(1), ...more }));
  return { id, course: history.of(id) };
}
async function serving(name: string, more: Parameters<typeof smallDeployment>[1] = {}) {
  const made = await started(name, more);
  await berth.ready(made.id);
  // The watch may be behind the API: pods that it has yet to see become ready would count as ones that were not.
  const areSeen = async () => made.course.ready('api') >= (made.course.replicas('api').at(-1) ?? Infinity);
  await waitFor('the history to have seen its pods ready', areSeen, { timeoutMs: 60_000 });
  made.course.mark();
  return made;
}

const rolling = (course: Course, number: number) => course.until(({ rollout }) => rollout?.number === number);
const failing = (course: Course, number: number) =>
  course.until(({ failedRevision }) => failedRevision?.number === number);
const status = (id: string, number: number, ...wanted: string[]) =>
  waitFor(
    `revision ${number} of ${id} to be ${wanted}`,
    async () => {
      const found = await revision(id, number);
      return wanted.includes(found.status) && found;
    },
    { timeoutMs: 60_000, intervalMs: 100 },
  );

interface StatusChange {
  from: string;
  to: string;
}

/**
 * The changes that events describe. A row is written once for all reports of one call, but each report has an event, so
 * that consecutive events may belong to one change of the row. All other events stay as they are.
 */
function joined(events: readonly StatusChange[], rows: readonly StatusChange[]): StatusChange[] {
  const result: StatusChange[] = [];
  for (const event of events) {
    const last = result.at(-1);
    const isComplete = last === undefined || last.to === rows[result.length - 1]?.to;
    if (!isComplete && event.from === last.to) last.to = event.to;
    else result.push({ ...event });
  }
  return result;
}

/**
 * Holds the record against what was seen: DEPLOYED is what was active, DEPLOY_FAILED what failed, INTERRUPTED what rolled
 * and did neither, SKIPPED what never had a pod. Each change of a state has its event, and active_revision_id only rose.
 */
async function holdsTrue(id: string, course: Course): Promise<string[]> {
  const [revisions, events, changes] = await Promise.all([revisionsOf(id), eventsOf(id), ledger.changes(id)]);
  const [active, rolled, failed] = [course.active, course.rolled, course.failed].map((list) => new Set(list));
  const withPods = new Set([...course.pods.values()].map(({ revisionId }) => revisionId));
  const truth = revisions.map(({ id: revisionId, number }) => {
    if (active?.has(number)) return 'DEPLOYED';
    if (failed?.has(number)) return 'DEPLOY_FAILED';
    return rolled?.has(number) || withPods.has(revisionId) ? 'INTERRUPTED' : 'SKIPPED';
  });
  const reported = revisions.map((found) => found.status);
  const wrong = reported.flatMap((word, index) =>
    word === truth[index] ? [] : [`${index + 1}: ${word}, not ${truth[index]}`],
  );
  expect(wrong).toEqual([]);
  for (const { id: revisionId, number } of revisions) {
    const byEvents = events.flatMap(({ revision_id, details: { from, to } }) =>
      revision_id === revisionId && from !== undefined && to !== undefined ? [{ from, to }] : [],
    );
    const byRows = changes.flatMap(({ revision, before, after }) =>
      revision === number && before !== null && after !== null ? [{ from: before, to: after }] : [],
    );
    expect(joined(byEvents, byRows), `the changes of revision ${number}`).toEqual(byRows);
  }
  const ups = changes.filter(({ revision: number }) => number === null).map(({ after }) => Number(after));
  expect(ups).toEqual([...new Set(ups)].sort((a, b) => a - b));
  expect([...course.active]).toEqual([...new Set(course.active)].sort((a, b) => a - b));
  return reported;
}

/** Decoded environment Secret and image of each api pod that is there. */
async function contents(id: string): Promise<{ image: string; env: Record<string, string> }[]> {
  const labelSelector = `berth.dev/deployment-id=${id},app.kubernetes.io/component=api`;
  const { namespace } = berth;
  const { items } = await client.listAll(RESOURCES.Pod, { namespace, labelSelector });
  return Promise.all(
    items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(async ({ spec }) => {
        const { containers } = spec as {
          containers: { image: string; envFrom?: { secretRef: { name: string } }[] }[];
        };
        const [app] = containers;
        const name = app?.envFrom?.[0]?.secretRef.name ?? '';
        const secret = await client.get(RESOURCES.Secret, { namespace, name });
        const data = Object.entries(secret['data'] as Record<string, string>);
        const env = data.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]);
        return { image: app?.image ?? '', env: Object.fromEntries(env) };
      }),
  );
}

/** Numbers of the revisions whose environment Secret is in the cluster. */
async function environments(id: string): Promise<number[]> {
  const labelSelector = `berth.dev/deployment-id=${id}`;
  const { items } = await client.listAll(RESOURCES.Secret, { namespace: berth.namespace, labelSelector });
  return items.flatMap(({ metadata }) => /-env-(\d+)$/.exec(metadata.name)?.[1] ?? []).map(Number);
}

/** Side by side on a busy machine, they take minutes. */
const PATIENT = { timeout: 300_000 };

describe.concurrent('fifty PATCHes in a row', PATIENT, () => {
  const FIFTY = Array.from({ length: 50 }, (_, index) => index + 2);
  const settings = { source_config: { resource_spec: { min_scale: 2, max_scale: 2 } } };

  async function last(id: string, course: Course, tookMs: number): Promise<void> {
    const after = await berth.ready(id);
    expect(after.generation).toBe(51);
    const reported = await holdsTrue(id, course);
    expect([reported.at(0), reported.at(-1)]).toEqual(['DEPLOYED', 'DEPLOYED']);
    // Far fewer: one is left alone for three seconds, or until it has come up.
    expect(reported.filter((word) => word === 'SKIPPED').length).toBeGreaterThan(25);
    const sets = await client.listAll(RESOURCES.ReplicaSet, {
      namespace: berth.namespace,
      labelSelector: `berth.dev/deployment-id=${id},app.kubernetes.io/component=api`,
    });
    const rollouts = reported.filter((word) => word !== 'SKIPPED').length;
    expect(sets.items.length).toBeLessThanOrEqual(rollouts);
    expect(rollouts).toBeLessThan(4 + (2 * tookMs) / TAKEOVER_PAUSE_MS);
    expect(course.fewest('api')).toBeGreaterThanOrEqual(2);
    for (const pod of await contents(id)) expect(pod).toEqual({ image: image(51), env: { TOKEN: '51' } });
    // Nothing else is changed any more: what is old goes all the same.
    const onlyNew = async () => (await environments(id)).every((number) => number > 51 - 10);
    await waitFor('the environments of old revisions to be gone', onlyNew, { timeoutMs: 60_000 });
    expect(await environments(id)).toContain(51);
  }

  test('end with the last one and its secrets when they are 100 ms apart', async () => {
    const { id, course } = await serving('row', { ...settings, secrets: secrets('1') });
    const begun = Date.now();
    for (const number of FIFTY) {
      const pause = new Promise((resolve) => setTimeout(resolve, 100));
      expect((await patch(id, number, { secrets: secrets(String(number)) })).status).toBe(200);
      await pause;
    }
    await last(id, course, Date.now() - begun);
  });

  test('end with the last one when they have no pause and the first one is still in progress', async () => {
    const { id, course } = await serving('fast', {
      ...settings,
      secrets: secrets('1'),
    });
    await patch(id, 'slow-4s', { secrets: secrets('2') });
    await rolling(course, 2);
    const begun = Date.now();
    for (const number of FIFTY.slice(1)) await patch(id, number, { secrets: secrets(String(number)) });
    await last(id, course, Date.now() - begun);
  });
});

describe.concurrent('a PATCH', PATIENT, () => {
  test('restores the last active revision with its secrets when it fails after others', async () => {
    const { id, course } = await serving('row back', { secrets: secrets('1') });
    await patch(id, 'slow-1s', { secrets: secrets('2') });
    await rolling(course, 2);
    // The environments of old revisions go meanwhile.
    for (let number = 3; number <= 20; number += 1)
      await patch(id, number === 20 ? BAD : number, { secrets: secrets(String(number)) });
    await failing(course, 20);
    await status(id, 20, 'DEPLOY_FAILED');
    const { active_revision_id: active } = await berth.until(id, 'rolled back', ({ conditions }) =>
      conditions.some(({ reason }) => reason === 'RolledBack'),
    );
    const number = (await revisionsOf(id)).find((candidate) => candidate.id === active)?.number;
    expect(await contents(id)).toMatchObject([{ env: { TOKEN: String(number) } }]);
    await holdsTrue(id, course);
  });

  test('interrupts the revision that rolls out, and the active one serves until the new one does', async () => {
    const { id, course } = await serving('rolling');
    await patch(id, SLOW);
    await rolling(course, 2);
    await patch(id, 3);
    await berth.ready(id);
    expect(await holdsTrue(id, course)).toEqual(['DEPLOYED', 'INTERRUPTED', 'DEPLOYED']);
    expect(course.fewest('api')).toBe(1);
  });

  test('rolls out its revision when it arrives during a rollback', async () => {
    const { id, course } = await serving('back-good', {
      source_config: { resource_spec: { min_scale: 3, max_scale: 3 } },
    });
    await patch(id, BAD);
    await failing(course, 2);
    await patch(id, 3);
    await berth.ready(id);
    expect(await holdsTrue(id, course)).toEqual(['DEPLOYED', 'DEPLOY_FAILED', 'DEPLOYED']);
    expect(course.fewest('api')).toBe(3);
  });

  test('leaves the active revision unchanged when it arrives during a rollback and fails', async () => {
    const { id, course } = await serving('back-bad', {
      source_config: { resource_spec: { min_scale: 3, max_scale: 3 } },
    });
    const pods = course.present('api').map(({ uid }) => uid);
    await patch(id, BAD);
    await failing(course, 2);
    await patch(id, `${BAD}.2`);
    await failing(course, 3);
    await status(id, 3, 'DEPLOY_FAILED');
    await berth.until(id, 'rolled back', ({ conditions }) =>
      conditions.some(({ reason }) => reason === 'RolledBack'),
    );
    expect(await holdsTrue(id, course)).toEqual(['DEPLOYED', 'DEPLOY_FAILED', 'DEPLOY_FAILED']);
    expect(course.active).toEqual([1]);
    expect(course.fewest('api')).toBe(3);
    expect(course.present('api').map(({ uid }) => uid)).toEqual(pods);
  });

  test('returns 409 during a deletion, like redeploy and rollback, and the deletion completes', async () => {
    const { id } = await serving('leaving');
    await patch(id, 2);
    const first = await revision(id, 1);
    expect((await berth.call('DELETE', path(id))).status).toBeLessThan(300);
    const answers = await Promise.all([
      patch(id, 3),
      again(id, first, 'redeploy'),
      again(id, first, 'rollback'),
    ]);
    expect(answers.map((answer) => answer.status)).toEqual([409, 409, 409]);
    const gone = async () => (await berth.call('GET', path(id))).status === 404;
    await waitFor('the deployment to be gone', gone, { timeoutMs: 60_000, intervalMs: 100 });
  });
});

describe.concurrent.each(['redeploy', 'rollback'] as const)('%s', PATIENT, (verb) => {
  const FIRST = { image: image(1), env: { TOKEN: 'one' } };
  const withSecrets = (value: string) => ({ secrets: secrets(value) });
  const runsFirst = async (id: string, course: Course, reported: string[]) => {
    await berth.ready(id);
    expect(await contents(id)).toEqual([FIRST]);
    expect(await holdsTrue(id, course)).toEqual(reported);
  };

  test('works during the rollout of another revision', async () => {
    const { id, course } = await serving(`${verb} rolling`, {
      ...withSecrets('one'),
    });
    await patch(id, SLOW, withSecrets('two'));
    await rolling(course, 2);
    await again(id, await revision(id, 1), verb);
    await runsFirst(id, course, ['DEPLOYED', 'INTERRUPTED', 'DEPLOYED']);
    expect(course.fewest('api')).toBe(1);
  });

  test('works during a rollback', async () => {
    const { id, course } = await serving(`${verb} failed`, withSecrets('one'));
    const first = await revision(id, 1);
    await patch(id, BAD, withSecrets('two'));
    await failing(course, 2);
    await again(id, first, verb);
    await runsFirst(id, course, ['DEPLOYED', 'DEPLOY_FAILED', 'DEPLOYED']);
    expect(course.fewest('api')).toBe(1);
  });

  test('fails as a new revision when it repeats a failed revision after the rollback', async () => {
    const { id, course } = await serving(`${verb} bad`, withSecrets('one'));
    await patch(id, BAD, withSecrets('two'));
    await status(id, 2, 'DEPLOY_FAILED');
    await again(id, await revision(id, 2), verb);
    await status(id, 3, 'DEPLOY_FAILED');
    expect(await holdsTrue(id, course)).toEqual(['DEPLOYED', 'DEPLOY_FAILED', 'DEPLOY_FAILED']);
    expect(course.fewest('api')).toBe(1);
  });

  test('waits while the deployment is off, and runs when it is switched on', async () => {
    const { id, course } = await serving(`${verb} off`, withSecrets('one'));
    await patch(id, 2, withSecrets('two'));
    await berth.ready(id);
    await berth.call('PATCH', path(id), { source_config: { resource_spec: { max_scale: 0 } } });
    await berth.until(id, 'off', (deployment) => deployment.status === 'UNUSED');
    await again(id, await revision(id, 1), verb);
    const switchedOff = await berth.until(id, 'seen', ({ generation, observed_generation }) => {
      return observed_generation === generation;
    });
    expect(switchedOff.status).toBe('UNUSED');
    expect((await status(id, 3, 'QUEUED')).status).toBe('QUEUED');
    expect(course.pods.size).toBeGreaterThan(0);
    await berth.call('PATCH', path(id), { source_config: { resource_spec: { max_scale: 1 } } });
    await runsFirst(id, course, ['DEPLOYED', 'DEPLOYED', 'DEPLOYED']);
  });

  test('works before the first revision is active', async () => {
    const { id, course } = await started(`${verb} first`, {
      image: image(SLOW),
      ...withSecrets('one'),
    });
    await rolling(course, 1);
    await again(id, await revision(id, 1), verb);
    await berth.ready(id);
    expect(await contents(id)).toEqual([{ image: image(SLOW), env: { TOKEN: 'one' } }]);
    expect(await holdsTrue(id, course)).toEqual(['INTERRUPTED', 'DEPLOYED']);
  });
});

test('creates two revisions for a concurrent redeploy and rollback, and the later one wins', async () => {
  const { id, course } = await serving('two at once', { secrets: secrets('one') });
  await patch(id, 2, { secrets: secrets('two') });
  await berth.ready(id);
  const [first, second] = await revisionsOf(id);
  if (first === undefined || second === undefined) throw new Error('there are not two revisions');
  const answers = await Promise.all([again(id, first, 'rollback'), again(id, second, 'redeploy')]);
  expect(answers.map(({ body }) => body.number).sort()).toEqual([3, 4]);
  await berth.ready(id);
  const reported = await holdsTrue(id, course);
  expect(reported.at(-1)).toBe('DEPLOYED');
  const later = answers.findIndex(({ body }) => body.number === 4) === 0 ? 'one' : 'two';
  expect(await contents(id)).toEqual([{ image: image(later === 'one' ? 1 : 2), env: { TOKEN: later } }]);
});

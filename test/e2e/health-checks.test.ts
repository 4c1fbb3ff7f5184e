/** An app whose health check first answers 500: pods that run, and a kubelet that asks them. */
import { beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../cluster/wait.ts';
import type { DeploymentAnswer } from '../integration/harness/berth.ts';
import {
  call,
  create,
  http,
  type Pod,
  pods,
  service,
  untilReady,
  whySkipped,
} from './harness/environment.ts';

const PORT = 8000;
/** What a kubelet reports about this answer. */
const LAST_ANSWER = 'HTTP probe failed with statuscode: 500';
const NO_SERVICES = { database: { enabled: false }, cache: { enabled: false } };

interface Explanation {
  status: string;
  serves: string;
  causes: { reason: string; message: string }[];
}
const explain = ({ id, latest_revision_id: revision }: DeploymentAnswer) =>
  call<Explanation>('GET', `/v2/deployments/${id}/revisions/${revision}/explain`);

const lastAnswerIn = (answer: Explanation) =>
  answer.causes.some(({ message }) => message.includes(LAST_ANSWER));

/** Waits until `explain` shows the last answer of the check, in an explanation that satisfies `check`. */
const untilExplained = (
  deployment: DeploymentAnswer,
  check: (found: Explanation) => boolean = () => true,
) => {
  let last: Explanation | undefined;
  return waitFor(
    'explain to show the last answer',
    async () => {
      last = await explain(deployment);
      if (lastAnswerIn(last) && check(last)) return last;
      throw new Error(JSON.stringify(last));
    },
    { timeoutMs: 150_000, intervalMs: 500 },
  );
};

const sick = (name: string, startup_seconds?: number) =>
  create(name, 'shop:1', {
    config: {
      ...NO_SERVICES,
      health_checks: { api: { type: 'http', path: '/healthz', period_seconds: 1, startup_seconds } },
    },
    revision: { env: [{ name: 'HEALTH_STATUS', value: '500' }] },
  });

/** Makes the app in a pod answer its check with this status. */
async function answerWith(pod: Pod, status: number): Promise<void> {
  const to = { host: pod.status.podIP ?? '', port: PORT };
  expect((await http(to, 'POST', `/healthz?value=${status}`)).status).toBe(200);
}

describe.skipIf(whySkipped() !== undefined)('an app whose health check answers 500', () => {
  let created: DeploymentAnswer;
  let first: Pod;
  beforeAll(async () => {
    created = await sick('sick');
  });
  /** The revision that answers through the Service. */
  const serving = async () => {
    const { body } = await http(await service(created.id), 'GET', '/');
    return (JSON.parse(body) as { revision: string }).revision;
  };

  it('does not become active, and explain shows the last answer', async () => {
    expect(await untilExplained(created)).toMatchObject({ status: 'DEPLOYING', serves: 'no' });
    [first] = (await pods(created.id, 'api')) as [Pod];
    expect((await http({ host: first.status.podIP ?? '', port: PORT }, 'GET', '/healthz')).status).toBe(500);
    const now = await call('GET', `/v2/deployments/${created.id}`);
    // The status READY is about the data services.
    const ready = now.conditions.find(({ type }) => type === 'Ready');
    expect([ready?.status, now.active_revision_id]).toEqual(['False', null]);
    // The Service has no pod.
    await expect(http(await service(created.id), 'GET', '/', { timeoutMs: 5000 })).rejects.toThrow();
  });

  it('becomes active in the same pod when its check answers 200', async () => {
    await answerWith(first, 200);
    await untilReady(created.id);
    const answered = await waitFor('an answer through the Service', serving, { timeoutMs: 60_000 });
    expect(answered).toBe(created.latest_revision_id);
    const now = (await pods(created.id, 'api')) as [Pod];
    expect(now.map(({ metadata }) => metadata.uid)).toEqual([first.metadata.uid]);
    expect(now[0].status.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0]);
  });

  it('serves from the former pod while the check of a new revision answers 500, and then switches', async () => {
    const { id: next } = await call<{ id: string }>('POST', `/v2/deployments/${created.id}/revisions`, {});
    const redeployed = { ...created, latest_revision_id: next };
    expect(await untilExplained(redeployed)).toMatchObject({ status: 'DEPLOYING', serves: 'no' });
    expect(await serving()).toBe(created.latest_revision_id);
    const second = (await pods(created.id, 'api')).find(
      ({ metadata }) => metadata.uid !== first.metadata.uid,
    );
    await answerWith(second as Pod, 200);
    await untilReady(created.id);
    await waitFor('the new revision to answer', async () => (await serving()) === next, {
      timeoutMs: 60_000,
    });
    await call('DELETE', `/v2/deployments/${created.id}`);
  });

  it('keeps the last answer in explain when its container is restarted in a loop', async () => {
    const loops = await sick('loops', 15);
    const waits = ({ status }: Pod) =>
      status.containerStatuses?.some(({ state }) => state.waiting?.reason === 'CrashLoopBackOff');
    await waitFor('CrashLoopBackOff', async () => (await pods(loops.id, 'api')).some(waits), {
      timeoutMs: 150_000,
      intervalMs: 300,
    });
    const inALoop = ({ causes }: Explanation) => causes.some(({ reason }) => reason === 'CrashLoop');
    await untilExplained(loops, inALoop);
    const now = await call('GET', `/v2/deployments/${loops.id}`);
    expect(now.active_revision_id).toBeNull();
    await call('DELETE', `/v2/deployments/${loops.id}`);
  });
});

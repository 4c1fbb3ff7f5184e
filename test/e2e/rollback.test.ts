/** Rollouts that end badly, and one that does not, while the app is asked all the time: no request may fail. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../cluster/wait.ts';
import type { DeploymentAnswer } from '../integration/harness/berth.ts';
import { call, create, image, pods, service, until, untilReady, whySkipped } from './harness/environment.ts';
import { startTraffic, type Traffic } from './harness/traffic.ts';

describe.skipIf(whySkipped() !== undefined)('a deployment that receives requests continuously', () => {
  let created: DeploymentAnswer;
  let traffic: Traffic;
  beforeAll(async () => {
    created = await create('front', 'shop:1');
    await untilReady(created.id);
    traffic = startTraffic(await service(created.id));
    await waitFor('the first answer', async () => traffic.served['1'], { timeoutMs: 30_000 });
    // The rules of a Service follow the first pod of it by a moment.
    traffic.failures.length = 0;
  });
  afterAll(() => traffic?.stop());

  const patch = (app: string) =>
    call('PATCH', `/v2/deployments/${created.id}`, { source_revision_config: { image_uri: image(app) } });

  type Revision = { status: string; conditions?: { reason: string; message: string }[] };
  const revision = (id: string | null) =>
    call<Revision>('GET', `/v2/deployments/${created.id}/revisions/${id}`);

  /** Waits for the end of a revision; gives it and the seconds since the PATCH. */
  async function failed(app: string): Promise<{ text: string; seconds: number }> {
    const began = Date.now();
    const { latest_revision_id } = await patch(app);
    const last = await waitFor(
      `the revision of ${app} to fail`,
      async () => {
        const found = await revision(latest_revision_id);
        return found.status === 'DEPLOY_FAILED' ? found : undefined;
      },
      { timeoutMs: 180_000, intervalMs: 300 },
    );
    return { text: JSON.stringify(last), seconds: (Date.now() - began) / 1000 };
  }

  /** The former revision is active, and the pods are its own again. */
  async function untilBack(): Promise<void> {
    const wanted =
      created.active_revision_id ?? (await call('GET', `/v2/deployments/${created.id}`)).active_revision_id;
    await until(created.id, 'the former revision to serve alone', (row) => row.active_revision_id === wanted);
    await waitFor(
      'the pods of the failed revision to be gone',
      async () => {
        const found = await pods(created.id, 'api');
        return found.length === 1 && found.every(({ spec }) => spec.containers[0]?.image.includes('/shop'));
      },
      { timeoutMs: 120_000, intervalMs: 300 },
    );
  }

  it('reports the crash when a new image crashes, and the former pod keeps serving', async () => {
    const { text, seconds } = await failed('crashes:1');
    console.log(`an image that crashes: DEPLOY_FAILED ${seconds.toFixed(1)} s after the PATCH`);
    expect(text).toMatch(/CrashLoop/);
    await untilBack();
    expect(traffic.failures).toEqual([]);
  });

  it('reports the tag when the registry does not have it, and the former pod keeps serving', async () => {
    const { text, seconds } = await failed('shop:no-such-tag');
    console.log(`a tag that is not there: DEPLOY_FAILED ${seconds.toFixed(1)} s after the PATCH`);
    expect(text).toMatch(/ImagePullFailed|ImageNotFound|InvalidImageName/);
    await untilBack();
    expect(traffic.failures).toEqual([]);
  });

  it('switches to a new image without a failed request', async () => {
    const began = Date.now();
    await patch('shop:2');
    await untilReady(created.id);
    console.log(`a good image: active ${((Date.now() - began) / 1000).toFixed(1)} s after the PATCH`);
    await waitFor('the new version to answer', async () => traffic.served['2'], { timeoutMs: 60_000 });
    await waitFor('the old pod to be gone', async () => (await pods(created.id, 'api')).length === 1, {
      timeoutMs: 120_000,
      intervalMs: 300,
    });
    await traffic.stop();
    console.log(`answers by version: ${JSON.stringify(traffic.served)}, failed: ${traffic.failures.length}`);
    expect(traffic.failures).toEqual([]);
  });
});

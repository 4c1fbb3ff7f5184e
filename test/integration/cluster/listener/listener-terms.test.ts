import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  eventually,
  type ListenerFixture,
  type RunningListener,
  startListenerFixture,
} from '../../harness/listener.ts';

/**
 * The exclusive time of the lease is a quarter of this, so it is longer than a test may take. On a busy machine, a
 * process can lose a short lease. Here, only the event that a test causes ends a term.
 */
const LEASE_SECONDS = 1200;

let fixture: ListenerFixture;
beforeEach(async () => {
  fixture = await startListenerFixture('terms', { leaseSeconds: LEASE_SECONDS });
});
afterEach(() => fixture.stop());

const holder = async () => {
  const [row] = await fixture.hub.store.sql<{ lease_holder: string | null; lease_epoch: number }>(
    'SELECT lease_holder, lease_epoch FROM listeners WHERE lease_epoch > 0',
  );
  return row;
};
/** Epochs of all terms so far, of all processes, in order. */
const terms = () =>
  fixture.hub.store.logger.lines
    .filter(({ message }) => message === 'holding the lease')
    .map(({ fields }) => (fields as { epoch: number }).epoch);
const writesOf = ({ requests }: RunningListener) =>
  requests.filter(({ verb }) => ['create', 'apply', 'delete'].includes(verb)).length;

describe('two processes of one listener', () => {
  it('act one at a time, and the second takes over when the first stops', async () => {
    const first = await fixture.start({ identity: 'first' });
    const acting = Promise.withResolvers<void>();
    const second = await fixture.start({ identity: 'second', onActing: (is) => is && acting.resolve() });
    const one = await fixture.deploy('one');
    await fixture.acknowledged(one.id);
    expect([writesOf(first), writesOf(second)]).toEqual([1, 0]);
    expect(await holder()).toMatchObject({ lease_holder: 'first', lease_epoch: 1 });
    await first.stop();
    await acting.promise;
    expect(await holder()).toMatchObject({ lease_holder: 'second', lease_epoch: 2 });
    const two = await fixture.deploy('two');
    await fixture.acknowledged(two.id);
    expect([writesOf(first), writesOf(second)]).toEqual([1, 1]);
    expect(terms()).toEqual([1, 2]);
  });

  it('write nothing after they lost the lease during a suspension', async () => {
    const first = await fixture.start({ identity: 'first' });
    // As after a long suspension of the process: the hub has given the lease to another one meanwhile.
    await fixture.hub.store.sql(
      `UPDATE listeners SET lease_holder = 'other', lease_epoch = lease_epoch + 1, lease_expires_at = now() + interval '1 hour' WHERE lease_holder = 'first'`,
    );
    await fixture.deploy('not-mine');
    await eventually('noticed', async () =>
      fixture.hub.store.logger.lines.find(({ message }) => message.startsWith('lost the lease')),
    );
    expect(writesOf(first)).toBe(0);
    expect(terms()).toEqual([1]);
    await fixture.hub.store.sql(`UPDATE listeners SET lease_holder = NULL`);
    await fixture.until((await fixture.deploy('mine-again')) as never, 'applied', () => true);
    // Epoch 2 was the term of the other process.
    expect(terms()).toEqual([1, 3]);
  });
});

describe('the reported status', () => {
  it('becomes READY with an active DEPLOYED revision, and later changes are reported, too', async () => {
    await fixture.start();
    const record = await fixture.deploy('shop');
    await fixture.acknowledged(record.id);
    const status = (body: object) =>
      fixture.kubectl(
        'patch',
        'mdep',
        record.appName,
        '--subresource=status',
        '--type=merge',
        '-p',
        JSON.stringify({ status: body }),
      );
    const now = new Date().toISOString();
    const condition = (type: string) => ({
      type,
      status: 'True',
      reason: 'Available',
      message: 'm',
      lastTransitionTime: now,
    });
    const revision = { id: record.latestRevisionId, number: 1, templates: 't' };
    const conditions = [condition('DatabaseReady'), condition('CacheReady')];
    await status({ observedRecordGeneration: 1, conditions, rollout: { ...revision, startTime: now } });
    await eventually('rolling', async () => {
      const [row] = await fixture.hub.store.sql<{ status: string }>(
        'SELECT status FROM revisions WHERE deployment_id = $1',
        [record.id],
      );
      return row?.status === 'DEPLOYING' || undefined;
    });
    await status({ activeRevision: revision, rollout: null });
    const done = await eventually('active', async () => {
      const found = await fixture.read(record.id);
      return found?.activeRevisionId === record.latestRevisionId ? found : undefined;
    });
    expect(done).toMatchObject({ status: 'READY', observation: { generation: 1 } });
    await status({ suspended: true });
    await eventually('off', async () =>
      (await fixture.read(record.id))?.status === 'UNUSED' ? true : undefined,
    );
  });

  it('includes changes that happened while no listener ran', async () => {
    const first = await fixture.start();
    const record = await fixture.deploy('missed');
    await fixture.acknowledged(record.id);
    await first.stop();
    await fixture.kubectl('delete', 'mdep', record.appName);
    await fixture.start();
    await fixture.until(record, 'there again', () => true);
  });
});

describe('a graceful stop', () => {
  it('withdraws no report, and releases the lease at once', async () => {
    const listener = await fixture.start();
    const records = await Promise.all(Array.from({ length: 20 }, (_, i) => fixture.deploy(`n${i}`)));
    const began = performance.now();
    await listener.stop();
    expect(performance.now() - began).toBeLessThan(10_000);
    expect((await holder())?.lease_holder).toBeNull();
    await fixture.start();
    for (const { id } of records) await fixture.acknowledged(id);
  });
});

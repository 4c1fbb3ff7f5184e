import { expect, test } from 'vitest';
import { KubeError } from '../../../../../src/cluster/kube/client/errors.ts';
import { currentTenant, onBehalfOf } from '../../../../../src/cluster/kube/transport/flow-context.ts';
import { CallLimiter } from '../../../../../src/cluster/kube/transport/limiter.ts';
import { FakeClock } from '../support.ts';

const forever = new AbortController().signal;

function refusal(retryAfterMs: number): () => Promise<never> {
  return async () => {
    throw new KubeError({ kind: 'too_many_requests', message: 'busy', retryAfterMs });
  };
}

test('runs calls up to the limit, in the order of arrival', async () => {
  const limiter = new CallLimiter({ total: 2 });
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  const all = gates.map((gate, index) =>
    limiter.run(() => {
      begun.push(index);
      return gate.promise;
    }, forever),
  );
  await Promise.resolve();
  expect({ begun, inFlight: limiter.inFlight, waiting: limiter.waiting }).toEqual({
    begun: [0, 1],
    inFlight: 2,
    waiting: 3,
  });
  gates[1]?.resolve();
  await all[1];
  await Promise.resolve();
  expect(begun).toEqual([0, 1, 2]);
  for (const gate of gates) gate.resolve();
  await Promise.all(all);
  expect({ begun, inFlight: limiter.inFlight }).toEqual({ begun: [0, 1, 2, 3, 4], inFlight: 0 });
});

/** A limiter with one slot, which is taken until `open`; records the order in which waiting calls begin. */
function oneTaken() {
  const limiter = new CallLimiter({ total: 1 });
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  const all = [limiter.run(() => gate.promise, forever)];
  const call = (tenant: string, name: string, signal = forever) => {
    const done = onBehalfOf(tenant, () => limiter.run(async () => void begun.push(name), signal));
    all.push(done);
    return done;
  };
  const open = async () => {
    gate.resolve();
    await Promise.allSettled(all);
    return begun;
  };
  return { limiter, call, open };
}

test('lets tenants take turns, however many calls of one tenant wait', async () => {
  const { limiter, call, open } = oneTaken();
  for (const name of ['a', 'b', 'c', 'd']) call('crowd', name);
  for (const name of ['x', 'y']) call('other', name);
  expect(limiter.waiting).toBe(6);
  expect(await open()).toEqual(['a', 'x', 'b', 'y', 'c', 'd']);
  expect({ waiting: limiter.waiting, inFlight: limiter.inFlight }).toEqual({ waiting: 0, inFlight: 0 });
});

test('leaves room for other tenants', async () => {
  const limiter = new CallLimiter({ total: 3, perTenant: 2 });
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  const call = (tenant: string, name: string) =>
    onBehalfOf(tenant, () =>
      limiter.run(async () => {
        begun.push(name);
        await gate.promise;
      }, forever),
    );
  const all = ['a', 'b', 'c'].map((name) => call('crowd', name));
  all.push(call('other', 'x'), call('other', 'y'));
  await Promise.resolve();
  expect({ begun: [...begun], waiting: limiter.waiting }).toEqual({ begun: ['a', 'b', 'x'], waiting: 2 });
  gate.resolve();
  await Promise.all(all);
  expect(begun.toSorted()).toEqual(['a', 'b', 'c', 'x', 'y']);
  expect({ waiting: limiter.waiting, inFlight: limiter.inFlight }).toEqual({ waiting: 0, inFlight: 0 });
});

test('gives no turn to a tenant whose only call was cancelled', async () => {
  const { limiter, call, open } = oneTaken();
  call('crowd', 'a');
  const deadline = new AbortController();
  const late = call('other', 'x', deadline.signal);
  call('third', 'z');
  deadline.abort(new Error('too late'));
  await expect(late).rejects.toThrow('too late');
  expect(limiter.waiting).toBe(2);
  expect(await open()).toEqual(['a', 'z']);
});

test('uses the tenant on whose behalf the call is made, however deeply nested', async () => {
  const { limiter, open } = oneTaken();
  const begun: string[] = [];
  const deep = (tenant: string, name: string) =>
    onBehalfOf(tenant, async () => {
      await Promise.resolve();
      await limiter.run(async () => void begun.push(name), forever);
    });
  const all = [deep('crowd', 'a'), deep('crowd', 'b'), deep('crowd', 'c'), deep('other', 'x')];
  await Promise.resolve();
  expect(currentTenant()).toBe('');
  await open();
  await Promise.all(all);
  expect(begun).toEqual(['a', 'x', 'b', 'c']);
});

test('does not start a call that is cancelled while it waits, and frees its place in the line', async () => {
  const limiter = new CallLimiter({ total: 1 });
  const gate = Promise.withResolvers<void>();
  const first = limiter.run(() => gate.promise, forever);
  const deadline = new AbortController();
  let begun = false;
  const second = limiter.run(async () => {
    begun = true;
  }, deadline.signal);
  deadline.abort(new Error('too late'));
  await expect(second).rejects.toThrow('too late');
  expect(limiter.waiting).toBe(0);
  gate.resolve();
  await first;
  expect(begun).toBe(false);
});

test('does not delay other calls because of one rejected object', async () => {
  const clock = new FakeClock();
  const limiter = new CallLimiter({ total: 1, clock });
  for (let n = 0; n < 5; n += 1) {
    await expect(limiter.run(refusal(60_000), forever)).rejects.toThrow('busy');
    await limiter.run(async () => 'fine', forever);
  }
  expect(clock.timers).toBe(0);
});

test('pauses new calls after consecutive rejections, for as long as the server asks', async () => {
  const clock = new FakeClock();
  const limiter = new CallLimiter({ total: 1, clock });
  for (let n = 0; n < 3; n += 1) await expect(limiter.run(refusal(5_000), forever)).rejects.toThrow('busy');
  let done = false;
  const next = limiter.run(async () => {
    done = true;
  }, forever);
  clock.advance(4_999);
  await Promise.resolve();
  expect({ done, waiting: limiter.waiting }).toEqual({ done: false, waiting: 1 });
  clock.advance(1);
  await next;
  expect(done).toBe(true);
});

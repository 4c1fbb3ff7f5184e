/** From when on Berth has its time (O1). */
import { expect, test, vi } from 'vitest';
import { allowedMs, convergedFigure, convergedSeconds, lastEffect } from '../../faults/convergence.ts';
import { LastFault } from '../../faults/last-fault.ts';
import { RuleBook } from '../../faults/proxies/rules.ts';
import { tracked } from '../../faults/tracked-rules.ts';

interface Fault {
  readonly kind: string;
  readonly ms?: number;
  readonly run?: () => Promise<void>;
  readonly drop?: (event: string) => boolean;
}

function proxyOf(faults: LastFault) {
  const book = new RuleBook<string, Fault>();
  const proxy = {
    add: (rule: Parameters<typeof book.add>[0]) => book.add(rule),
    cut: vi.fn<(client?: string) => void>(),
    open: vi.fn<(client?: string) => void>(),
  };
  return { book, ...tracked(proxy, faults) };
}

test('a rule counts when it is played, when its call has ended, and when it is taken back', async () => {
  const faults = new LastFault();
  const { proxy, book } = proxyOf(faults);
  const { promise: free, resolve: letGo } = Promise.withResolvers<void>();
  const rule = proxy.add({ match: (text) => text === 'it', fault: { kind: 'before', run: () => free } });
  faults.begin();
  book.take('another');
  expect(faults.last.what).toBe('the plan began');
  const taken = book.take('it');
  expect(faults.last.what).toBe('before');
  const ended = taken?.fault.run?.();
  faults.begin();
  letGo();
  await ended;
  expect(faults.last.what).toBe('before');
  rule.remove();
  expect(faults.last.what).toBe('before taken back');
  expect(taken?.removed).toBe(true);
});

test('a rule that is used up is no fault any more, and one that only counts never was', () => {
  const faults = new LastFault();
  const { proxy, book } = proxyOf(faults);
  const once = proxy.add({ match: () => true, fault: { kind: 'lose' }, times: 1 });
  book.take('it');
  const counting = proxy.add({ match: () => true, fault: { kind: 'delay', ms: 0 } });
  faults.begin();
  book.take('it');
  once.remove();
  counting.remove();
  expect(faults.last.what).toBe('the plan began');
});

test('of a watch that is filtered the events count that are dropped', () => {
  const faults = new LastFault();
  const { proxy, book } = proxyOf(faults);
  proxy.add({ match: () => true, fault: { kind: 'filter-watch', drop: (event) => event === 'lost' } });
  faults.begin();
  const drop = book.take('watch')?.fault.drop;
  expect(drop?.('kept')).toBe(false);
  expect(faults.last.what).toBe('the plan began');
  expect(drop?.('lost')).toBe(true);
  expect(faults.last.what).toBe('an event dropped');
});

test('what is done to all connections counts', () => {
  const faults = new LastFault();
  const { proxy } = proxyOf(faults);
  proxy.cut('operator');
  expect(faults.last.what).toBe('cut');
  proxy.open();
  expect(faults.last.what).toBe('open');
});

test('a creation has its time beside the thirty seconds, and what is noticed late has more', () => {
  expect(allowedMs({})).toBe(45_000);
  expect(allowedMs({}, 40_000)).toBe(70_000);
  expect(allowedMs({ convergesWithinSeconds: 120 }, 1_000)).toBe(135_000);
});

test('what lasts is a write that was taken, a report, a statement that writes', () => {
  const request = { client: 'operator', resource: 'services', subresource: '', name: 'shop', path: '/x' };
  const effect = (kubernetes: object[], hub: object[] = [], messages: object[] = []) =>
    lastEffect({
      kubernetes: { exchanges: () => kubernetes },
      hub: { exchanges: () => hub },
      postgres: { messages: () => messages },
    } as unknown as Parameters<typeof lastEffect>[0]);
  const write = { ...request, verb: 'apply', upstreamStatus: 200, endedAt: 10 };
  expect(
    effect([
      { ...write, endedAt: 90, upstreamStatus: 409 },
      { ...write, verb: 'list', endedAt: 90 },
    ]),
  ).toBe(undefined);
  expect(effect([write, { ...write, resource: 'events', endedAt: 90 }])).toBe(10);
  const hub = [{ method: 'POST', path: '/v2/listeners/1/reports', endedAt: 20 }];
  const inventory = { method: 'POST', path: '/v2/listeners/1/inventory', endedAt: 90 };
  expect(effect([write], [...hub, inventory])).toBe(20);
  const sql = [
    { sql: 'UPDATE deployments SET generation = 2', at: 30 },
    { sql: 'SELECT 1', at: 90 },
  ];
  expect(effect([write], hub, sql)).toBe(30);
});

test('the figure is read as it is told', () => {
  expect(convergedSeconds(convergedFigure(4.25, 'operator started'))).toBe(4.3);
  expect(convergedSeconds('heap flat')).toBe(undefined);
});

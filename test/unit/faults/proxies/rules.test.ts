import { expect, test } from 'vitest';
import { callRule, RuleBook, RuleFailure } from '../../../faults/proxies/rules.ts';

const any = () => true;

test('matches the newest rule first, up to its number of times, until it is removed', async () => {
  const book = new RuleBook<number, string>();
  const old = book.add({ match: any, fault: 'old' });
  const once = book.add({ match: (n) => n === 2, fault: 'once', times: 1 });
  expect([1, 2, 2].map((n) => book.take(n)?.fault)).toEqual(['old', 'once', 'old']);
  expect([old.taken(), once.taken()]).toEqual([2, 1]);
  old.remove();
  expect(book.take(1)).toBeUndefined();
});

test('resolves waitTaken when a rule has matched often enough, and rejects after the time limit', async () => {
  const book = new RuleBook<number, { kind: string }>();
  const rule = book.add({ match: any, fault: { kind: 'hold' } });
  const waiting = rule.waitTaken(2);
  book.take(1);
  book.take(2);
  await waiting;
  await rule.waitTaken(1);
  await expect(rule.waitTaken(3, 1)).rejects.toThrow(
    '(hold) was not applied 3 times: it was applied 2 times',
  );
});

test('reports the error that a rule has thrown when the proxy stops', async () => {
  const book = new RuleBook<number, string>();
  const fail = () => {
    throw new Error('of the plan');
  };
  book.add({ match: fail, fault: '' });
  expect(() => book.take(1)).toThrow(RuleFailure);
  await expect(callRule(async () => fail())).rejects.toBeInstanceOf(RuleFailure);
  book.note(new Error('ECONNRESET'));
  book.assertPlayed();
  book.note(new RuleFailure(new Error('of the plan')));
  expect(() => book.assertPlayed()).toThrow('1 rules failed: a rule failed: of the plan');
  expect(book.takeFailures().map(({ message }) => message)).toEqual(['a rule failed: of the plan']);
  expect(book.takeFailures()).toEqual([]);
  book.assertPlayed();
});

import { expect, test } from 'vitest';
import { arrivals } from '../../bench/api/listeners.bench.ts';

test('a deployment comes to the listener that it is for, before or after somebody waits; the first time counts', async () => {
  const came = arrivals();
  came.note('early', 'one', 5);
  came.note('early', 'one', 9);
  expect(await came.of('early', 'one')).toBe(5);
  const late = came.of('late', 'two');
  came.note('late', 'two', 7);
  expect(await late).toBe(7);
  expect(() => came.check()).not.toThrow();
});

test('one that another listener is given is told, with both', async () => {
  const came = arrivals();
  came.note('early', 'two', 5);
  await expect(came.of('early', 'one')).rejects.toThrow('early is for one, and two was given it');
  const late = came.of('late', 'one');
  came.note('late', 'two', 7);
  await expect(late).rejects.toThrow('late is for one, and two was given it');
});

test('one that another listener is given as well, later, or that nobody made, is told', async () => {
  const came = arrivals();
  came.note('shared', 'one', 5);
  await came.of('shared', 'one');
  came.note('shared', 'two', 6);
  expect(() => came.check()).toThrow('shared is for one, and two was given it');
  const others = arrivals();
  others.note('unknown', 'two', 6);
  expect(() => others.check()).toThrow('unknown is for none of them, and two was given it');
});

test('one that does not come is told, with whom it is for', async () => {
  await expect(arrivals(1).of('lost', 'one')).rejects.toThrow('failed to deliver the deployment lost to one');
});

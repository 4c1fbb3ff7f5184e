import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NOBODY, Turns, type TurnsOptions } from '../../../src/domain/turns.ts';
import { FakeClock } from '../kube/support.ts';

/** Turns whose time stands still; `begun`: names in the order in which they got a place. */
function setUp(options: Omit<TurnsOptions, 'clock'>) {
  const clock = new FakeClock();
  const turns = new Turns({ clock, ...options });
  const begun: string[] = [];
  const take = (group: string, name: string) => turns.take(group, () => void begun.push(name));
  const takeAll = (group: string, names: string) => {
    for (const name of names) take(group, name);
  };
  const leave = (group: string, times: number) => {
    for (let left = 0; left < times; left += 1) turns.leave(group);
  };
  return { clock, turns, begun, take, takeAll, leave };
}

describe('a group with much to do', () => {
  const options = { max: 16, maxOfGroup: 8, share: { atOnce: 2 }, shareBeside: { atOnce: 1 } };

  test('has its share once it has not paused for a while; until then as many as a group may have', () => {
    const { clock, begun, takeAll, leave } = setUp(options);
    takeAll('crowd', 'abcdefghijklmno');
    expect(begun.join('')).toBe('abcdefgh');
    clock.advance(249);
    leave('crowd', 1);
    expect(begun.join('')).toBe('abcdefghi');
    clock.advance(1);
    leave('crowd', 6);
    expect(begun.join(''), 'two are under way still').toBe('abcdefghi');
    leave('crowd', 1);
    expect(begun.join('')).toBe('abcdefghij');
  });

  test('has its share no more after a break', () => {
    const { clock, begun, takeAll, leave } = setUp(options);
    takeAll('crowd', 'abc');
    clock.advance(1000);
    leave('crowd', 3);
    takeAll('crowd', 'defghijk');
    expect(begun.join('')).toBe('abcdefghijk');
  });

  test('leaves the places to a group that does one thing after the other', () => {
    const { clock, begun, takeAll, leave } = setUp(options);
    takeAll('crowd', 'abcdefghijklmno');
    clock.advance(300);
    takeAll('other', 'uvwxyz');
    expect(begun.join('')).toBe('abcdefghuvwxyz');
    leave('other', 6);
    leave('crowd', 7);
    expect(begun.join(''), 'one of the crowd is under way').toBe('abcdefghuvwxyz');
    clock.advance(9_999);
    leave('crowd', 1);
    expect(begun.join('')).toBe('abcdefghuvwxyzi');
    clock.advance(1);
    takeAll('crowd', 'p');
    expect(begun.join(''), 'nobody else is at work').toBe('abcdefghuvwxyzij');
  });

  test('beside another one that has much to do as well, both have the share of it', () => {
    const { clock, begun, takeAll, leave } = setUp(options);
    takeAll('a', '12345');
    takeAll('b', '67890');
    clock.advance(250);
    takeAll('a', 'x');
    takeAll('b', 'y');
    leave('a', 4);
    leave('b', 4);
    expect(begun.join('')).toBe('1234567890');
    leave('a', 1);
    leave('b', 1);
    expect(begun.join('')).toBe('1234567890xy');
  });

  test('takes one more every so often, when those before take their time, up to as many as a group may have', () => {
    const { clock, turns, begun, takeAll } = setUp({
      max: 16,
      maxOfGroup: 4,
      share: { atOnce: 1, everyMs: 25 },
    });
    takeAll('slow', '1');
    clock.advance(1000);
    takeAll('slow', '23456');
    expect(begun.join('')).toBe('12');
    clock.advance(24);
    expect(begun.join('')).toBe('12');
    clock.advance(1);
    expect(begun.join('')).toBe('123');
    clock.advance(1000);
    expect({ begun: begun.join(''), timers: clock.timers }).toEqual({ begun: '1234', timers: 0 });
    turns.leave('slow');
    expect(begun.join('')).toBe('12345');
  });

  test('has no share when it is nobody, and is not another one either', () => {
    const { clock, begun, takeAll } = setUp(options);
    takeAll(NOBODY, '1');
    takeAll('crowd', 'a');
    clock.advance(1000);
    takeAll(NOBODY, '23');
    takeAll('crowd', 'bc');
    expect(begun.join('')).toBe('1a23b');
  });
});

test('nothing begins while it is closed', () => {
  let isOpen = false;
  const { turns, begun, take } = setUp({ max: 1, isOpen: () => isOpen });
  take('a', '1');
  expect(begun).toEqual([]);
  isOpen = true;
  turns.open();
  expect(begun).toEqual(['1']);
});

test('who gave up gets no place and takes none from another one', () => {
  const { turns, begun, take } = setUp({ max: 1 });
  take('a', '1');
  const giveUp = take('b', '2');
  take('b', '3');
  giveUp();
  turns.leave('a');
  expect({ begun, taken: turns.taken, waiting: turns.waiting }).toEqual({
    begun: ['1', '3'],
    taken: 1,
    waiting: 0,
  });
});

test('whatever comes: bounds hold, nothing waits for a place that is free, and nothing is lost', () => {
  const step = fc.oneof(
    fc.record({ take: fc.constantFrom('a', 'b', 'c', NOBODY) }),
    fc.record({ leave: fc.nat() }),
    fc.record({ giveUp: fc.nat() }),
    fc.record({ pass: fc.constantFrom(1, 20, 250, 10_000) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { clock, turns } = setUp({
        max: 4,
        maxOfGroup: 3,
        share: { atOnce: 2, everyMs: 20 },
        shareBeside: { atOnce: 1, everyMs: 20 },
      });
      const held: string[] = [];
      const waiting = new Set<{ group: string; giveUp: () => void }>();
      const take = (group: string) => {
        const each = { group, giveUp: () => undefined as void };
        waiting.add(each);
        each.giveUp = turns.take(group, () => {
          waiting.delete(each);
          held.push(group);
        });
      };
      const leave = (index: number) => {
        const [group] = held.splice(index, 1);
        if (group !== undefined) turns.leave(group);
      };
      for (const each of steps) {
        if ('take' in each) take(each.take);
        else if ('leave' in each && held.length > 0) leave(each.leave % held.length);
        else if ('giveUp' in each && waiting.size > 0) {
          const chosen = [...waiting][each.giveUp % waiting.size];
          if (chosen !== undefined) {
            waiting.delete(chosen);
            chosen.giveUp();
          }
        } else if ('pass' in each) clock.advance(each.pass);
        expect(held.length).toBeLessThanOrEqual(4);
        for (const group of ['a', 'b', 'c', NOBODY])
          expect(held.filter((other) => other === group).length).toBeLessThanOrEqual(3);
        expect({ taken: turns.taken, waiting: turns.waiting }).toEqual({
          taken: held.length,
          waiting: waiting.size,
        });
        for (const { group } of waiting)
          expect(held.length === 4 || held.includes(group), 'a free place while its group has none').toBe(
            true,
          );
      }
      while (held.length > 0) leave(0);
      expect({ taken: turns.taken, waiting: turns.waiting, timers: clock.timers > 1 }).toEqual({
        taken: 0,
        waiting: 0,
        timers: false,
      });
    }),
  );
});

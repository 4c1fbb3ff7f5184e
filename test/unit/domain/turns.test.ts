import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NOBODY, Turns, type TurnsOptions } from '../../../src/domain/turns.ts';

/** Turns whose time stands still; `begun`: names in the order in which they got a place. */
function setUp(options: TurnsOptions) {
  const clock = { now: 0 };
  const turns = new Turns({ now: () => clock.now, ...options });
  const begun: string[] = [];
  const take = (group: string, name: string) => turns.take(group, () => void begun.push(name));
  const takeAll = (group: string, names: string) => {
    for (const name of names) take(group, name);
  };
  return { clock, turns, begun, take, takeAll };
}

describe('while another group is at work', () => {
  const options = { max: 16, maxOfGroup: 8, maxBeside: 2 };

  test('a group has few places, and all that it may have when it is alone again', () => {
    const { clock, turns, begun, takeAll } = setUp(options);
    takeAll('crowd', 'abcdefghijklmno');
    expect(begun.join('')).toBe('abcdefgh');
    takeAll('other', 'x');
    expect(begun.join('')).toBe('abcdefghx');
    for (let left = 0; left < 6; left += 1) turns.leave('crowd');
    expect(begun.join(''), 'two of the crowd are under way still').toBe('abcdefghx');
    turns.leave('crowd');
    expect(begun.join('')).toBe('abcdefghxi');
    turns.leave('other');
    clock.now = 499;
    turns.leave('crowd');
    expect(begun.join(''), 'between two steps nothing is under way').toBe('abcdefghxij');
    clock.now = 500;
    turns.leave('crowd');
    expect(begun.join('')).toBe('abcdefghxijklmno');
  });

  test('so has the other one', () => {
    const { turns, begun, takeAll } = setUp(options);
    takeAll('a', '1');
    takeAll('b', '23456');
    expect(begun.join('')).toBe('123');
    turns.leave('b');
    expect(begun.join('')).toBe('1234');
  });

  test('a place that is held for long keeps its group at work', () => {
    const { clock, begun, take, takeAll } = setUp(options);
    take('slow', 's');
    clock.now = 60_000;
    takeAll('crowd', 'abc');
    expect(begun.join('')).toBe('sab');
  });

  test('what is on behalf of nobody is not another one, and has not less beside one', () => {
    const { begun, takeAll } = setUp(options);
    takeAll(NOBODY, '123');
    takeAll('crowd', 'abc');
    takeAll(NOBODY, '45');
    expect(begun.join('')).toBe('123abc45');
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
    fc.record({ pass: fc.constantFrom(1, 499, 500, 10_000) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { clock, turns } = setUp({ max: 4, maxOfGroup: 3, maxBeside: 1 });
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
        } else if ('pass' in each) clock.now += each.pass;
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
      expect({ taken: turns.taken, waiting: turns.waiting }).toEqual({ taken: 0, waiting: 0 });
    }),
  );
});

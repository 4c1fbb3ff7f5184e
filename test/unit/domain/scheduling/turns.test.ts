import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NO_GROUP, Turns, type TurnsOptions } from '../../../../src/domain/scheduling/turns.ts';
import { FakeClock } from '../../cluster/kube/support.ts';

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

describe('a busy group', () => {
  const options = { max: 16, maxOfGroup: 8, share: { atOnce: 2 }, shareBeside: { atOnce: 1 } };

  test('is limited to its share after a time without a pause, and to the maximum of a group before', () => {
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

  test('is not limited to its share after a pause', () => {
    const { clock, begun, takeAll, leave } = setUp(options);
    takeAll('crowd', 'abc');
    clock.advance(1000);
    leave('crowd', 3);
    takeAll('crowd', 'defghijk');
    expect(begun.join('')).toBe('abcdefghijk');
  });

  test('leaves the places to a group that does one task after the other', () => {
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

  test('has the smaller share when another group is busy as well', () => {
    const { clock, begun, takeAll, leave } = setUp({ ...options, maxOfGroup: 5 });
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

  test('takes one more place at an interval when its tasks are slow, up to the maximum of a group', () => {
    const { clock, turns, begun, takeAll } = setUp({
      max: 16,
      maxOfGroup: 4,
      share: { atOnce: 1, everyMs: 25 },
    });
    takeAll('slow', 'abcd');
    clock.advance(1000);
    takeAll('slow', '123456');
    for (const _each of 'abcd') turns.leave('slow');
    expect(begun.join('')).toBe('abcd1');
    clock.advance(24);
    expect(begun.join('')).toBe('abcd1');
    clock.advance(1);
    expect(begun.join('')).toBe('abcd12');
    clock.advance(1000);
    expect({ begun: begun.join(''), timers: clock.timers }).toEqual({ begun: 'abcd1234', timers: 0 });
    turns.leave('slow');
    expect(begun.join('')).toBe('abcd12345');
  });

  test('yields to a group with little to do, also between its tasks, except for one place at an interval', () => {
    const shareBeside = { atOnce: 2, everyMs: 100 };
    const { clock, begun, takeAll, leave } = setUp({ max: 16, maxOfGroup: 2, shareBeside, yieldMs: 150 });
    takeAll('crowd', 'abcdefgh');
    clock.advance(1000);
    takeAll('other', '1');
    leave('crowd', 2);
    // The last one before is long ago.
    expect(begun.join('')).toBe('ab1c');
    leave('crowd', 1);
    leave('other', 1);
    expect(begun.join('')).toBe('ab1c');
    clock.advance(100);
    expect(begun.join('')).toBe('ab1cd');
    takeAll('other', '2');
    leave('other', 1);
    clock.advance(99);
    expect(begun.join('')).toBe('ab1cd2');
    clock.advance(51);
    expect(begun.join(''), 'the other one has ended').toBe('ab1cd2e');
    leave('crowd', 2);
    expect(begun.join('')).toBe('ab1cd2efg');
  });

  test('is not a group that begins few tasks, however long each one takes', () => {
    const { clock, begun, takeAll, leave } = setUp({ max: 16, maxOfGroup: 4, share: { atOnce: 1 } });
    takeAll('slow', 'abc');
    clock.advance(1000);
    leave('slow', 2);
    takeAll('slow', 'd');
    expect(begun.join('')).toBe('abcd');
    takeAll('slow', 'e');
    expect(begun.join(''), 'it goes on, with as many as it may have at once').toBe('abcd');
  });

  test('does not yield to another busy group', () => {
    const { clock, begun, takeAll, leave } = setUp({ ...options, yieldMs: 150 });
    takeAll('a', '12345678x');
    takeAll('b', '90abcdefy');
    clock.advance(250);
    takeAll('b', 'z');
    clock.advance(150);
    leave('a', 8);
    leave('b', 8);
    expect(begun.join('')).toBe('1234567890abcdefxy');
  });

  test('has no share when its calls belong to no tenant, and does not limit other groups then', () => {
    const { clock, begun, takeAll, leave } = setUp({ ...options, maxOfGroup: 3 });
    takeAll(NO_GROUP, '123');
    takeAll('crowd', 'abc');
    clock.advance(1000);
    leave(NO_GROUP, 2);
    leave('crowd', 2);
    takeAll(NO_GROUP, '45');
    takeAll('crowd', 'de');
    expect(begun.join('')).toBe('123abc45d');
  });
});

test('starts nothing while it is closed', () => {
  let isOpen = false;
  const { turns, begun, take } = setUp({ max: 1, isOpen: () => isOpen });
  take('a', '1');
  expect(begun).toEqual([]);
  isOpen = true;
  turns.open();
  expect(begun).toEqual(['1']);
});

test('gives no place to a caller that gave up, and takes none from another caller', () => {
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

const GROUPS = ['a', 'b', 'c', NO_GROUP];

/** The callers that have a place and the callers that wait. */
class Callers {
  readonly clock = new FakeClock();
  readonly turns: Turns;
  readonly yieldMs: number;
  readonly held: string[] = [];
  readonly waiting: { group: string; giveUp?: () => void }[] = [];

  constructor(yieldMs: number) {
    this.yieldMs = yieldMs;
    this.turns = new Turns({
      max: 4,
      maxOfGroup: 3,
      share: { atOnce: 2, everyMs: 20 },
      shareBeside: { atOnce: 1, everyMs: 20 },
      yieldMs,
      clock: this.clock,
    });
  }

  take(group: string): void {
    const caller: Callers['waiting'][number] = { group };
    this.waiting.push(caller);
    caller.giveUp = this.turns.take(group, () => {
      this.waiting.splice(this.waiting.indexOf(caller), 1);
      this.held.push(group);
    });
  }

  leave(nth: number): void {
    const [group] = this.held.splice(nth % Math.max(1, this.held.length), 1);
    if (group !== undefined) this.turns.leave(group);
  }

  giveUp(nth: number): void {
    const [caller] = this.waiting.splice(nth % Math.max(1, this.waiting.length), 1);
    caller?.giveUp?.();
  }

  check(): void {
    const { held, waiting, turns } = this;
    expect({ taken: turns.taken, waiting: turns.waiting }).toEqual({
      taken: held.length,
      waiting: waiting.length,
    });
    expect(held.length).toBeLessThanOrEqual(4);
    for (const group of GROUPS) expect(held.filter((each) => each === group).length).toBeLessThanOrEqual(3);
    // Only its share holds it back: a timer must be set.
    const isHeldBack = ({ group }: { group: string }) =>
      held.length < 4 && held.filter((each) => each === group).length < 3;
    if (waiting.some(isHeldBack)) expect(this.clock.timers).toBeGreaterThan(0);
    for (const { group } of this.yieldMs > 0 ? [] : waiting)
      expect(held.length === 4 || held.includes(group), 'a free place while its group has none').toBe(true);
  }
}

test('keeps its bounds, lets no caller wait for a free place, and loses no caller, for any sequence of calls', () => {
  const step = fc.oneof(
    fc.constantFrom(...GROUPS).map((group) => (callers: Callers) => callers.take(group)),
    fc.nat().map((nth) => (callers: Callers) => callers.leave(nth)),
    fc.nat().map((nth) => (callers: Callers) => callers.giveUp(nth)),
    fc.constantFrom(1, 20, 250, 10_000).map((ms) => (callers: Callers) => callers.clock.advance(ms)),
  );
  fc.assert(
    fc.property(fc.constantFrom(0, 50), fc.array(step, { maxLength: 60 }), (yieldMs, steps) => {
      const callers = new Callers(yieldMs);
      for (const each of steps) {
        each(callers);
        callers.check();
      }
      for (let left = 1000; left > 0 && callers.held.length + callers.waiting.length > 0; left -= 1) {
        callers.leave(0);
        callers.clock.advance(yieldMs);
      }
      expect({ held: callers.held, waiting: callers.waiting }).toEqual({ held: [], waiting: [] });
    }),
  );
});

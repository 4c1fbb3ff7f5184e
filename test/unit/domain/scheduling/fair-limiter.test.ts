import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FairLimiter, type FairLimits } from '../../../../src/domain/scheduling/fair-limiter.ts';

/** `started` contains the names of the tasks in the order in which they started. */
function setUp(limits: FairLimits) {
  const limiter = new FairLimiter(limits);
  const started: string[] = [];
  const acquire = (tenant: string, task: string) => limiter.acquire(tenant, () => void started.push(task));
  const acquireAll = (tenant: string, tasks: string) => {
    for (const task of tasks) acquire(tenant, task);
  };
  return { limiter, acquire, acquireAll, order: () => started.join('') };
}

test('lets tenants take turns, and starts the tasks of a tenant in order of arrival', () => {
  const { limiter, acquireAll, order } = setUp({ total: 1 });
  acquireAll('crowd', 'abcd');
  acquireAll('other', 'xy');
  for (const running of ['crowd', 'crowd', 'other', 'crowd', 'other']) limiter.release(running);
  expect(order()).toBe('abxcyd');
});

test('delays the task of a tenant by one turn when thousands of tasks of another tenant wait', () => {
  const { limiter, acquire, order } = setUp({ total: 1 });
  for (let n = 0; n < 5_000; n += 1) acquire('crowd', '.');
  acquire('other', 'x');
  limiter.release('crowd');
  limiter.release('crowd');
  expect(order()).toBe('..x');
});

test('gives free places in turn, whatever the number of running tasks', () => {
  const { limiter, acquireAll, order } = setUp({ total: 4 });
  acquireAll('crowd', 'abcdefg');
  acquireAll('other', 'xyz');
  for (let n = 0; n < 4; n += 1) limiter.release('crowd');
  expect(order()).toBe('abcdexfy');
});

test('gives turns to a tenant with an endless task while new tenants arrive all the time', () => {
  const { limiter, acquire, order } = setUp({ total: 3, perTenant: 2 });
  acquire('hung', '!');
  for (let n = 0; n < 5; n += 1) acquire(`tenant ${n}`, '.');
  acquire('hung', 'x');
  acquire('hung', 'y');
  for (let n = 0; n < 5; n += 1) {
    acquire(`tenant ${n + 5}`, '.');
    limiter.release(`tenant ${n}`);
  }
  expect(order()).toBe('!..x....');
  limiter.release('hung');
  expect(order()).toBe('!..x....y');
});

test('counts the waiting tasks of a tenant', () => {
  const { limiter, acquireAll } = setUp({ total: 1 });
  acquireAll('a', '123');
  acquireAll('b', '4');
  expect(['a', 'b', 'c'].map((tenant) => limiter.waitingOf(tenant))).toEqual([2, 1, 0]);
});

test('keeps places free for other tenants', () => {
  const { limiter, acquireAll, order } = setUp({ total: 3, perTenant: 2 });
  acquireAll('crowd', 'abc');
  acquireAll('other', 'xy');
  expect(order()).toBe('abx');
  limiter.release('other');
  expect(order()).toBe('abxy');
  expect({ running: limiter.running, waiting: limiter.waiting }).toEqual({ running: 3, waiting: 1 });
});

test('starts nothing while it is closed', () => {
  let isOpen = false;
  const { limiter, acquireAll, order } = setUp({ total: 2, isOpen: () => isOpen });
  acquireAll('a', '123');
  expect(order()).toBe('');
  isOpen = true;
  limiter.startWaiting();
  expect(order()).toBe('12');
});

test('gives no place to a cancelled task, and does not delay the tasks behind it', () => {
  const { limiter, acquire, order } = setUp({ total: 1 });
  acquire('a', '1');
  const cancel = acquire('b', '2');
  acquire('b', '3');
  cancel();
  cancel();
  expect(limiter.waiting).toBe(1);
  limiter.release('a');
  expect(order()).toBe('13');
  cancel();
  expect({ running: limiter.running, waiting: limiter.waiting }).toEqual({ running: 1, waiting: 0 });
});

describe('run', () => {
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  test('returns the place when the task fails, and passes on the error', async () => {
    const limiter = new FairLimiter({ total: 1 });
    const failed = limiter.run('a', () => Promise.reject(new Error('broken')));
    const next = limiter.run('b', async () => 'done');
    await expect(failed).rejects.toThrow('broken');
    expect(await next).toBe('done');
    expect({ running: limiter.running, waiting: limiter.waiting }).toEqual({ running: 0, waiting: 0 });
  });

  test('does not start a task whose signal fires while it waits, or has fired before', async () => {
    const limiter = new FairLimiter({ total: 1 });
    const gate = Promise.withResolvers<void>();
    const first = limiter.run('a', () => gate.promise);
    const ending = new AbortController();
    let started = false;
    const task = async () => {
      started = true;
    };
    const waiting = limiter.run('b', task, ending.signal);
    ending.abort(new Error('too late'));
    await expect(waiting).rejects.toThrow('too late');
    await expect(limiter.run('b', task, ending.signal)).rejects.toThrow('too late');
    gate.resolve();
    await first;
    await settled();
    expect({ started, running: limiter.running, waiting: limiter.waiting }).toEqual({
      started: false,
      running: 0,
      waiting: 0,
    });
  });

  test('ignores a signal that fires after the start', async () => {
    const limiter = new FairLimiter({ total: 1 });
    const gate = Promise.withResolvers<string>();
    const ending = new AbortController();
    const running = limiter.run('a', () => gate.promise, ending.signal);
    ending.abort(new Error('too late'));
    gate.resolve('done');
    expect(await running).toBe('done');
  });
});

interface Task {
  readonly tenant: string;
  readonly id: number;
  cancel?: () => void;
}

/**
 * The rule in its simplest form: the tenants with a waiting task that are below their limit take turns. A tenant that
 * has nothing to do has no turn.
 */
class Model {
  readonly limits: { total: number; perTenant: number };
  /** The tenants with tasks, in the order of their turns. */
  turns: string[] = [];
  waiting: Task[] = [];
  running: Task[] = [];
  readonly started: number[] = [];
  isOpen = true;

  constructor(limits: { total: number; perTenant: number }) {
    this.limits = limits;
  }

  update(): void {
    const tasksOf = (tenant: string, tasks: readonly Task[]) =>
      tasks.filter((task) => task.tenant === tenant);
    this.turns = this.turns.filter(
      (tenant) => tasksOf(tenant, [...this.waiting, ...this.running]).length > 0,
    );
    if (!this.isOpen || this.running.length >= this.limits.total) return;
    const runningOf = (tenant: string) => tasksOf(tenant, this.running).length;
    const next = this.turns.find(
      (tenant) => tasksOf(tenant, this.waiting).length > 0 && runningOf(tenant) < this.limits.perTenant,
    );
    if (next === undefined) return;
    const [task] = tasksOf(next, this.waiting) as [Task];
    this.waiting = this.waiting.filter((other) => other !== task);
    this.running.push(task);
    this.started.push(task.id);
    this.turns = [...this.turns.filter((tenant) => tenant !== next), next];
    this.update();
  }
}

type Step =
  | { readonly do: 'acquire'; readonly tenant: string }
  | { readonly do: 'release' | 'cancel'; readonly nth: number }
  | { readonly do: 'open' | 'close' };

/** The limiter and its model. Every step is performed on both. */
class Schedule {
  readonly model: Model;
  readonly limiter: FairLimiter;
  readonly started: number[] = [];
  #ids = 0;

  constructor(limits: { total: number; perTenant: number }) {
    this.model = new Model(limits);
    this.limiter = new FairLimiter({ ...limits, isOpen: () => this.model.isOpen });
  }

  perform(step: Step): void {
    const { model, limiter } = this;
    switch (step.do) {
      case 'acquire':
        this.#acquire(step.tenant);
        break;
      case 'release': {
        const [task] = model.running.splice(step.nth % Math.max(1, model.running.length), 1);
        model.update();
        if (task !== undefined) limiter.release(task.tenant);
        break;
      }
      case 'cancel': {
        const [task] = model.waiting.splice(step.nth % Math.max(1, model.waiting.length), 1);
        model.update();
        task?.cancel?.();
        break;
      }
      default:
        model.isOpen = step.do === 'open';
        model.update();
        limiter.startWaiting();
    }
    this.check();
  }

  #acquire(tenant: string): void {
    const { model, limiter } = this;
    const task: Task = { tenant, id: this.#ids };
    this.#ids += 1;
    if (!model.turns.includes(tenant)) model.turns.push(tenant);
    model.waiting.push(task);
    model.update();
    task.cancel = limiter.acquire(tenant, () => void this.started.push(task.id));
  }

  check(): void {
    const { model, limiter } = this;
    expect({ started: this.started, running: limiter.running, waiting: limiter.waiting }).toEqual({
      started: model.started,
      running: model.running.length,
      waiting: model.waiting.length,
    });
  }
}

describe('any schedule', () => {
  const nth = fc.nat(20);
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('acquire' as const),
        tenant: fc.constantFrom('a', 'b', 'c', ''),
      }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('release' as const), nth }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), nth }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('open' as const, 'close' as const) }) },
  );
  const limits = fc.record({
    total: fc.integer({ min: 1, max: 6 }),
    perTenant: fc.integer({ min: 1, max: 4 }),
  });

  test('starts the same tasks in the same order as the model, and leaves none behind', () => {
    fc.assert(
      fc.property(limits, fc.array(step, { maxLength: 80 }), (chosen, steps) => {
        const schedule = new Schedule(chosen);
        for (const each of steps) schedule.perform(each);
        schedule.perform({ do: 'open' });
        while (schedule.model.running.length > 0) schedule.perform({ do: 'release', nth: 0 });
        expect(schedule.limiter).toMatchObject({ running: 0, waiting: 0 });
        expect(schedule.model.waiting).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

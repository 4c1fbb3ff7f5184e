import { describe, expect, it } from 'vitest';
import { Outbox } from '../../../../../src/cluster/listener/report/outbox.ts';
import type { ObservedReport } from '../../../../../src/contract/protocol/report-protocol.ts';
import type { Condition, Reason } from '../../../../../src/domain/conditions/conditions.ts';

const applied = (id: string, generation: number) =>
  ({ kind: 'applied', deployment_id: id, generation }) as const;
const observed = (id: string, generation: number): ObservedReport => ({
  kind: 'observed',
  deployment_id: id,
  name: id,
  namespace: 'n',
  observed_spec_generation: generation,
  conditions: [],
  off: false,
  url: null,
  active_revision: null,
  rollout_revision: null,
  failed_revision: null,
});

const ready = (reason: Reason): Condition => ({
  type: 'Ready',
  status: 'False',
  reason,
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 1,
});

describe('the outbox', () => {
  it('keeps the newest reports of each deployment, outcomes first', () => {
    const outbox = new Outbox();
    outbox.addObserved(observed('a', 1));
    outbox.addOutcome(applied('a', 1));
    outbox.addOutcome(applied('a', 2));
    outbox.addObserved(observed('a', 2));
    expect(outbox.draft(10)?.reports).toEqual([applied('a', 2), observed('a', 2)]);
    expect(outbox.isEmpty).toBe(true);
  });

  it('does not repeat a status that the hub has, but sends a return to an earlier one', () => {
    const outbox = new Outbox();
    outbox.addObserved(observed('a', 1));
    outbox.draft(10);
    outbox.addObserved(observed('a', 1));
    expect(outbox.isEmpty).toBe(true);
    outbox.addObserved(observed('a', 2));
    outbox.addObserved(observed('a', 1));
    expect(outbox.draft(10)?.reports).toEqual([observed('a', 1)]);
  });

  it('sends a return to an earlier state that happens while another one is being sent', () => {
    const outbox = new Outbox();
    outbox.addObserved(observed('a', 1));
    outbox.draft(10);
    outbox.addObserved(observed('a', 2));
    const draft = outbox.draft(10);
    expect(draft?.reports).toEqual([observed('a', 2)]);
    outbox.addObserved(observed('a', 1));
    expect(outbox.draft(10)?.reports).toEqual([observed('a', 1)]);
  });

  it('separates the statuses of two custom resources with the same id', () => {
    const outbox = new Outbox();
    const copy = (generation: number) => ({ ...observed('a', generation), namespace: 'clone' });
    outbox.addObserved(observed('a', 1));
    outbox.addObserved(copy(1));
    expect(outbox.draft(10)?.reports).toEqual([observed('a', 1), copy(1)]);
    outbox.addObserved(observed('a', 1));
    expect(outbox.isEmpty).toBe(true);
    outbox.addObserved(observed('a', 2));
    outbox.forget(copy(1));
    expect(outbox.draft(10)?.reports).toEqual([observed('a', 2)]);
  });

  it('sends a status again on request, even if the hub has it', () => {
    const outbox = new Outbox();
    outbox.addObserved(observed('a', 1));
    outbox.draft(10);
    outbox.addObserved(observed('a', 1), true);
    expect(outbox.draft(10)?.reports).toEqual([observed('a', 1)]);
  });

  it('sends a status again after a failed call', () => {
    const outbox = new Outbox();
    outbox.addObserved(observed('a', 1));
    outbox.draft(10)?.failed();
    expect(outbox.draft(10)?.reports).toEqual([observed('a', 1)]);
  });

  it('puts the reports of a failed draft back unless there are newer ones', () => {
    const outbox = new Outbox();
    outbox.addOutcome(applied('a', 1));
    outbox.addOutcome(applied('b', 1));
    outbox.addObserved(observed('a', 1));
    const draft = outbox.draft(10);
    outbox.addOutcome(applied('a', 2));
    draft?.failed();
    expect(outbox.draft(10)?.reports).toEqual([applied('a', 2), applied('b', 1), observed('a', 1)]);
  });

  describe('while the hub is away', () => {
    const revision = (number: number) => ({ id: `r${number}`, number });
    /** Revision 1 is active; `number` rolls. */
    const rolling = (id: string, number: number, generation = number) => ({
      ...observed(id, generation),
      active_revision: revision(1),
      rollout_revision: revision(number),
    });

    it('keeps, in order, each status whose revisions differ from those of the next one', () => {
      const outbox = new Outbox();
      for (const report of [rolling('a', 2), rolling('a', 2, 7), rolling('b', 2), rolling('a', 3)]) {
        outbox.addObserved(report);
      }
      const draft = outbox.draft(2);
      expect(draft?.reports).toEqual([rolling('a', 2, 7), rolling('a', 3)]);
      outbox.addObserved(rolling('a', 3, 8));
      outbox.addObserved(rolling('a', 4));
      draft?.failed();
      const next = outbox.draft(10);
      expect(next?.reports.filter(({ deployment_id }) => deployment_id === 'a')).toEqual([
        rolling('a', 2, 7),
        rolling('a', 3, 8),
        rolling('a', 4),
      ]);
      outbox.addObserved(rolling('a', 4));
      expect(outbox.isEmpty).toBe(true);
    });

    it('keeps problems that have passed, for the history', () => {
      const outbox = new Outbox();
      const troubled = { ...rolling('a', 2), conditions: [ready('Unschedulable')] };
      const worded = { ...rolling('a', 2, 7), conditions: [ready('Unschedulable')] };
      for (const report of [rolling('a', 2), troubled, worded, rolling('a', 2)]) outbox.addObserved(report);
      expect(outbox.draft(10)?.reports).toEqual([rolling('a', 2), worded, rolling('a', 2)]);
    });

    it('keeps only the latest 20 statuses of a deployment', () => {
      const outbox = new Outbox();
      for (let number = 2; number <= 1000; number += 1) outbox.addObserved(rolling('a', number));
      const reports = outbox.draft(500)?.reports ?? [];
      expect([reports.length, reports.at(-1)]).toEqual([20, rolling('a', 1000)]);
    });
  });

  it.each([
    ['an applied item', 'can wait', applied('a', 1)],
    [
      'the progress of a rollout',
      'can wait',
      { ...observed('a', 1), rollout_revision: { id: 'r1', number: 1 } },
    ],
    [
      'a problem of a rollout',
      'is urgent',
      {
        ...observed('a', 1),
        rollout_revision: { id: 'r1', number: 1 },
        conditions: [ready('ImagePullFailed')],
      },
    ],
    ['the end of a rollout', 'is urgent', observed('a', 1)],
  ])('decides that %s %s', (_, how, report) => {
    const outbox = new Outbox();
    if (report.kind === 'observed') outbox.addObserved(report);
    else outbox.addOutcome(report);
    expect(outbox.isUrgent).toBe(how === 'is urgent');
  });

  it('returns at most the requested number of reports, and loses none', () => {
    const outbox = new Outbox();
    for (const id of ['a', 'b', 'c']) outbox.addOutcome(applied(id, 1));
    outbox.addObserved(observed('a', 1));
    const sizes = [outbox.draft(2), outbox.draft(2), outbox.draft(2)].map((draft) => draft?.reports.length);
    expect(sizes).toEqual([2, 2, undefined]);
  });

  it('wakes a caller that waits for content', async () => {
    const outbox = new Outbox();
    const waiting = outbox.waitForContent();
    outbox.touch('n/a', null);
    await waiting;
    expect(outbox.takeTouched()).toMatchObject({ everything: false, touched: new Map([['n/a', null]]) });
    expect(outbox.isEmpty).toBe(true);
  });
});

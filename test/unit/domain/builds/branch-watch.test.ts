import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  afterSuccess,
  afterVerdict,
  nextPollSeconds,
  pollAfterFailure,
} from '../../../../src/domain/builds/branch-poll.ts';
import {
  afterDeletion,
  afterPush,
  type BranchWatch,
  pollVerdict,
  pushVerdict,
  trackedBranch,
  watchOf,
} from '../../../../src/domain/builds/branch-watch.ts';

const commit = (n: number) => n.toString(16).padStart(40, '0');
const push = (before: number | null, after: number) => ({
  branch: 'main',
  before: before === null ? null : commit(before),
  after: commit(after),
});

/** Handles the pushes in this order, and builds as each verdict requires. */
function follow(pushes: readonly (readonly [number | null, number])[], start: BranchWatch | null = null) {
  let watch = start;
  let built: string | null = null;
  const builds: string[] = [];
  let sure = true;
  for (const [before, after] of pushes) {
    const pushed = afterPush(watch, push(before, after));
    if (pushVerdict(watch, pushed, { commit: built, building: false }) === 'build') {
      built = pushed.head;
      builds.push(pushed.head);
    }
    watch = pushed.watch;
    sure = pushed.sure;
  }
  return { head: watch?.commit, builds, sure };
}

describe('the watch of a branch', () => {
  test('builds each commit conclusively when pushes arrive in order', () => {
    expect(
      follow([
        [1, 2],
        [2, 3],
        [3, 4],
      ]),
    ).toEqual({
      head: commit(4),
      builds: [commit(2), commit(3), commit(4)],
      sure: true,
    });
  });

  test('builds the newest commit last when 50 pushes arrive in any order', () => {
    const chain = Array.from({ length: 50 }, (_, n) => [n + 1, n + 2] as const);
    fc.assert(
      fc.property(fc.shuffledSubarray(chain, { minLength: chain.length }), (shuffled) => {
        const { head, builds } = follow(shuffled);
        expect(head).toBe(commit(51));
        expect(builds.at(-1)).toBe(commit(51));
      }),
      { numRuns: 100 },
    );
  });

  test('builds the newest commit last when pushes arrive in any order and more than once', () => {
    const chain = Array.from({ length: 8 }, (_, n) => [n + 1, n + 2] as const);
    fc.assert(
      fc.property(fc.shuffledSubarray([...chain, ...chain], { minLength: 2 * chain.length }), (shuffled) => {
        expect(follow(shuffled).builds.at(-1)).toBe(commit(9));
      }),
    );
  });

  test('builds nothing for an older push after a newer one', () => {
    expect(
      follow([
        [2, 3],
        [1, 2],
      ]).builds,
    ).toEqual([commit(3)]);
  });

  test('builds a push without a known predecessor, and polls the branch', () => {
    expect(
      follow([
        [1, 2],
        [7, 8],
      ]),
    ).toEqual({
      head: commit(8),
      builds: [commit(2), commit(8)],
      sure: false,
    });
  });

  test('builds an earlier commit after a force push back to it, and polls the branch', () => {
    expect(
      follow([
        [1, 2],
        [2, 3],
        [3, 1],
      ]),
    ).toEqual({
      head: commit(1),
      builds: [commit(2), commit(3), commit(1)],
      sure: false,
    });
    expect(
      follow([
        [1, 2],
        [2, 1],
        [1, 4],
      ]).head,
    ).toBe(commit(4));
  });

  test('starts from scratch after a deletion of the branch', () => {
    const { watch } = afterPush(null, push(1, 2));
    const gone = afterDeletion(watch, { branch: 'main', before: commit(2) });
    expect(gone.sure).toBe(true);
    expect(afterPush(gone.watch, push(null, 1))).toMatchObject({ head: commit(1), sure: false });
  });

  test('keeps the commit of a branch that was recreated before its deletion is reported, and polls the branch', () => {
    const { watch } = afterPush(null, push(1, 2));
    const made = afterPush(watch, push(null, 1));
    expect(made).toMatchObject({ head: commit(1), sure: false });
    const gone = afterDeletion(made.watch, { branch: 'main', before: commit(2) });
    expect(gone).toMatchObject({ sure: false, watch: { deleted: true, soon: true } });
  });

  test('builds a reported commit after a force push from a polled commit back to it', () => {
    // The push from 2 to 3 was lost, and a poll found it.
    const seen = { ...afterPush(null, push(1, 2)).watch, commit: commit(3) };
    expect(afterPush(seen, push(3, 1))).toMatchObject({ head: commit(1), sure: false });
  });

  test('is not conclusive for a push that may be late or forced back', () => {
    const { watch } = afterPush(null, push(1, 2));
    const pushed = afterPush(watch, push(3, 1));
    expect(pushed).toMatchObject({ head: commit(2), sure: false, watch: { soon: true } });
    expect(afterPush(pushed.watch, push(2, 5))).toMatchObject({ sure: true, watch: { soon: true } });
  });

  const moves = fc.array(
    fc.record({ to: fc.integer({ min: 0, max: 6 }), how: fc.constantFrom('told', 'lost', 'seen') }),
    { maxLength: 30 },
  );

  test('has only the newest commit as a conclusive head, with any force pushes, losses and polls', () => {
    fc.assert(
      fc.property(moves, (steps) => {
        let watch: BranchWatch | null = null;
        let at = 0;
        for (const { to, how } of steps) {
          if (to === at) continue;
          const pushed = afterPush(watch, push(at, to));
          at = to;
          if (how === 'seen') watch = { ...watchOf(watch, 'main'), commit: commit(to) };
          if (how !== 'told') continue;
          watch = pushed.watch;
          expect(pushed.sure && pushed.head !== commit(to)).toBe(false);
          expect(pushed.watch.soon).toBe(!pushed.sure || pushed.watch.soon === true);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('always builds the newest commit when pushes arrive in order without losses, with any force pushes', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 30 }), (commits) => {
        let watch: BranchWatch | null = null;
        let at = 0;
        for (const to of commits.filter((each, index) => each !== (commits[index - 1] ?? 0))) {
          const pushed = afterPush(watch, push(at, to));
          expect(pushed.head).toBe(commit(to));
          [watch, at] = [pushed.watch, to];
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('remembers a bounded number of pushes', () => {
    let watch: BranchWatch | null = null;
    for (let n = 1; n < 500; n += 1) watch = afterPush(watch, push(n, n + 1)).watch;
    expect(watch?.pushes.length).toBe(64);
    expect(watch?.commit).toBe(commit(500));
  });

  test('starts without pushes for another branch', () => {
    const { watch } = afterPush(null, push(1, 2));
    expect(watchOf(watch, 'next')).toMatchObject({ branch: 'next', commit: null, pushes: [] });
  });
});

describe('a push', () => {
  const pushed = afterPush(null, push(1, 2));
  test('builds a revision unless the latest one has this commit', () => {
    expect(pushVerdict(null, pushed, { commit: null, building: true })).toBe('build');
    expect(pushVerdict(null, pushed, { commit: commit(1), building: false })).toBe('build');
    expect(pushVerdict(null, pushed, { commit: commit(2), building: false })).toBe('known');
  });

  test('builds nothing when the push is repeated after a rollback to an earlier revision', () => {
    const again = afterPush(pushed.watch, push(1, 2));
    expect(pushVerdict(pushed.watch, again, { commit: commit(1), building: false })).toBe('known');
  });
});

describe('the verdict of a poll', () => {
  const watch = { ...watchOf(null, 'main'), commit: commit(2) };
  const latest = { commit: commit(1), building: false };
  test.each([
    ['is "known" for the known commit', watch, commit(2), latest, false, 'known'],
    ['is "known" for the commit of the latest revision', watch, commit(1), latest, true, 'known'],
    ['is "build" for another commit', watch, commit(3), latest, false, 'build'],
    ['is "build" for an earlier commit after a force push', watch, commit(0), latest, true, 'build'],
    [
      'is "known" for a commit of an earlier revision at the first poll',
      watchOf(null, 'main'),
      commit(3),
      latest,
      true,
      'known',
    ],
    [
      'is "build" for a new commit at the first poll',
      watchOf(null, 'main'),
      commit(3),
      latest,
      false,
      'build',
    ],
    [
      'is "wait" for a commit that a running build may have',
      watch,
      commit(3),
      { commit: null, building: true },
      false,
      'wait',
    ],
    [
      'is "build" for a commit after a build that failed early',
      watch,
      commit(3),
      { commit: null, building: false },
      false,
      'build',
    ],
  ] as const)('%s', (_what, known, head, revision, everBuilt, verdict) => {
    expect(pollVerdict(known, head, revision, everBuilt)).toBe(verdict);
  });
});

describe('a poll that finds an earlier commit', () => {
  const { watch } = afterPush(null, push(1, 2));
  const latest = { commit: commit(2), building: false };

  test('is repeated because the git host may lag, and builds the commit when it is found twice', () => {
    expect(pollVerdict(watch, commit(1), latest, true)).toBe('again');
    const doubting = afterVerdict(watch, commit(1), 'again');
    expect(doubting).toMatchObject({ commit: commit(2), soon: true });
    expect(pollVerdict(doubting, commit(1), latest, true)).toBe('build');
    expect(pollVerdict(doubting, commit(2), latest, true)).toBe('known');
    expect(afterVerdict(doubting, commit(1), 'build')).toMatchObject({
      commit: commit(1),
      soon: false,
      doubted: null,
    });
  });

  test('builds the commit when the branch was deleted and created again', () => {
    const gone = afterDeletion(watch, { branch: 'main', before: commit(2) }).watch;
    expect(pollVerdict(gone, commit(1), latest, true)).toBe('build');
    expect(pollVerdict(gone, commit(2), latest, true)).toBe('known');
    expect(afterVerdict(gone, commit(1), 'build').deleted).toBe(false);
  });
});

describe('failed polls', () => {
  test('are retried a few times if polling is on only because a push was inconclusive', () => {
    let watch: BranchWatch = { ...watchOf(null, 'main'), soon: true };
    const soon = Array.from({ length: 6 }, () => {
      watch = pollAfterFailure(watch, 'timeout').watch;
      return watch.soon;
    });
    expect(soon).toEqual([true, true, true, true, false, false]);
  });

  const first = pollAfterFailure(watchOf(null, 'main'), 'unavailable');
  const second = pollAfterFailure(first.watch, 'unavailable');
  test('are reported once after the second failure, and again when the failure changes', () => {
    expect([first.report, second.report]).toEqual([null, 'failed']);
    const third = pollAfterFailure(second.watch, 'unavailable');
    expect(third.report).toBeNull();
    expect(pollAfterFailure(third.watch, 'refused').report).toBe('failed');
  });

  test('are reported as over only if they were reported', () => {
    expect(afterSuccess(second.watch)).toMatchObject({
      report: 'readable',
      watch: { failures: 0, reportedFailure: null },
    });
    expect(afterSuccess(first.watch).report).toBeNull();
  });

  test('delay the next poll up to an hour', () => {
    const wait = (failures: number, random = 0.5) => Math.round(nextPollSeconds(300, failures, random));
    expect([0, 1, 2, 3, 4, 100].map((failures) => wait(failures))).toEqual([
      300, 600, 1200, 2400, 3600, 3600,
    ]);
    expect([wait(0, 0), wait(0, 0.999)]).toEqual([270, 330]);
    expect(nextPollSeconds(7200, 5, 0.5)).toBeCloseTo(7200);
  });

  test('of the default branch are kept when its name becomes known', () => {
    const { watch } = pollAfterFailure(pollAfterFailure(watchOf(null, ''), 'timeout').watch, 'timeout');
    expect(afterSuccess(watchOf(watch, 'main')).report).toBe('readable');
  });
});

test.each([
  [null, 'default'],
  ['main', { name: 'main' }],
  ['refs/heads/feature/a', { name: 'feature/a' }],
  ['refs/tags/v1', null],
  ['refs/pull/1/head', null],
])('repo_ref %s tracks %j', (ref, expected) => {
  expect(trackedBranch(ref)).toEqual(expected);
});

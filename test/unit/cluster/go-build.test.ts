import { describe, expect, test } from 'vitest';
import {
  about,
  coldBuildSeconds,
  exactly,
  recordedSeconds,
  remainingSeconds,
} from '../../cluster/go/estimate.ts';
import { BuildProgress } from '../../cluster/go/progress.ts';

const NOTHING = { sourceBytes: 0, programs: 0 };
const TOTAL = { sourceBytes: 30_000_000, programs: 4 };
const half = { sourceBytes: TOTAL.sourceBytes / 2, programs: TOTAL.programs / 2 };

describe('remainingSeconds', () => {
  test('is the recorded time divided by the processors when nothing is done yet', () => {
    expect(remainingSeconds(TOTAL, NOTHING, 0, 2)).toBeCloseTo(recordedSeconds(TOTAL) / 2);
    expect(remainingSeconds(TOTAL, NOTHING, 0, 8)).toBeCloseTo(recordedSeconds(TOTAL) / 8);
  });

  test('follows the measured rate when enough is done', () => {
    expect(remainingSeconds(TOTAL, half, 700, 2)).toBeCloseTo(700);
    expect(remainingSeconds(TOTAL, half, 20, 2)).toBeCloseTo(20);
  });

  test('is zero when everything is done, or was in the build cache', () => {
    expect(remainingSeconds(TOTAL, TOTAL, 100, 2)).toBe(0);
    expect(remainingSeconds(NOTHING, NOTHING, 1, 2)).toBe(0);
  });

  test('never grows while work is done at a constant rate', () => {
    const steps = Array.from({ length: 11 }, (_, step) => step / 10);
    const estimates = steps.map((part) => {
      const done = { sourceBytes: TOTAL.sourceBytes * part, programs: TOTAL.programs * part };
      return remainingSeconds(TOTAL, done, (part * recordedSeconds(TOTAL)) / 2, 2);
    });
    expect(estimates).toEqual(estimates.toSorted((one, other) => other - one));
  });
});

test.each([
  [0, 'about 10 s'],
  [11, 'about 20 s'],
  [90, 'about 90 s'],
  [91, 'about 2 min'],
  [360.5, 'about 7 min'],
])('about rounds up when %d s remain', (seconds, text) => {
  expect(about(seconds)).toBe(text);
});

test('exactly prints minutes and seconds when a minute has passed', () => {
  expect([exactly(59.4), exactly(130)]).toEqual(['59 s', '2 min 10 s']);
});

test('coldBuildSeconds is shorter when there are more processors', () => {
  expect(coldBuildSeconds(4)).toBeCloseTo(coldBuildSeconds(2) / 2);
});

describe('BuildProgress', () => {
  const packageOf = (name: string, bytes: number, version = '1') => ({
    name,
    folder: `/modules/${name}@${version}`,
    bytes,
  });

  test('counts downloads until packages are compiled', () => {
    const progress = new BuildProgress(1, 2, () => 0);
    progress.onLine('go: downloading k8s.io/api v0.36.3');
    progress.onLine('k8s.io/api/core/v1');
    expect(progress.line()).toBe('0 s: 1 modules downloaded');
  });

  test('counts packages and estimates the remaining time when packages are compiled', () => {
    let now = 0;
    const progress = new BuildProgress(0, 2, () => now);
    progress.start([[packageOf('a', 50_000_000), packageOf('b', 50_000_000)]]);
    progress.onLine('a');
    progress.onLine('a');
    progress.onLine('# a warning');
    now = 400_000;
    expect(progress.line()).toBe('6 min 40 s: 1 of 2 packages compiled, about 7 min left');
  });

  test('counts a package of two modules once when its source is the same', () => {
    const progress = new BuildProgress(0, 2, () => 0);
    progress.start([
      [packageOf('fmt', 10), packageOf('grpc', 10, '1')],
      [packageOf('fmt', 10), packageOf('grpc', 10, '2')],
    ]);
    for (const line of ['fmt', 'grpc', 'grpc']) progress.onLine(line);
    expect(progress.line()).toMatch(/3 of 3 packages compiled/);
  });

  test('counts linked programs when the packages of their module are compiled', () => {
    const progress = new BuildProgress(2, 1, () => 0);
    progress.start([[]]);
    const before = progress.line();
    progress.countLinked(() => 1);
    expect(progress.line()).not.toBe(before);
    progress.addLinked(2);
    expect(progress.line()).toMatch(/about 10 s left/);
  });
});

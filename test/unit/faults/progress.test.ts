/** What `npm run faults` tells while plans are under way. */
import { expect, test, vi } from 'vitest';
import { Progress } from '../../faults/progress.ts';

test('each that runs is told with its time, and how many are done', () => {
  const progress = new Progress(640);
  for (const name of ['kill/a', 'walk', 'soak/b']) progress.begins(name, 0);
  progress.ends('kill/a');
  progress.begins('kill/c', 150_000);
  expect(progress.line(190_000)).toBe('running: walk (3 min), soak/b (3 min), kill/c (40 s); 1 of 640 done');
});

test('it is told each half minute while something runs, and no more when told to stop', () => {
  vi.useFakeTimers();
  try {
    const lines: string[] = [];
    const progress = new Progress(2);
    const untold = progress.tell((line) => lines.push(line));
    vi.advanceTimersByTime(30_000);
    expect(lines).toEqual([]);
    progress.begins('walk');
    vi.advanceTimersByTime(60_000);
    expect(lines).toEqual(['running: walk (30 s); 0 of 2 done', 'running: walk (1 min); 0 of 2 done']);
    untold();
    vi.advanceTimersByTime(60_000);
    expect(lines).toHaveLength(2);
  } finally {
    vi.useRealTimers();
  }
});

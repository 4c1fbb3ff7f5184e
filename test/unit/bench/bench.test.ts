import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { assertCheckout, chooseBenches, listed, loadBenches } from '../../../scripts/bench.ts';
import { runBench } from '../../bench/bench.ts';
import { assertNotTakenByNpm, readArguments } from '../../bench/command-line.ts';
import { busyWarning, describeMachine } from '../../bench/machine.ts';
import { drawPlot, ticks } from '../../bench/plot.ts';
import { cpuShare, processUsage } from '../../bench/process-usage.ts';
import { ASKED_FOR, type Entry, readEntries, shortNumber, writeReport } from '../../bench/report.ts';
import { assertWorthWriting } from '../../bench/run.ts';
import { judge, medianRound, quantile, ratios, type Summary, summarise } from '../../bench/statistics.ts';
import { context, fake } from './fake.ts';

test('the round of the median ratio is the one to show', () => {
  expect(medianRound([3, 10, 4], [2, 4, 4])).toBe(0);
  expect(medianRound([3, 10, 4, 20], [2, 4, 4, 4])).toBe(0);
  expect(medianRound([5], [4])).toBe(0);
  expect(medianRound([], [])).toBe(0);
});

test('quantiles lie between their neighbours; quartiles, ends and the number of rounds are told', () => {
  expect(quantile([1, 2, 4], 0.25)).toBe(1.5);
  expect(summarise([4, 1, 2])).toEqual({
    ...{ median: 2, min: 1, max: 4, q1: 1.5, q3: 3, rounds: 3 },
    values: [4, 1, 2],
  });
  expect(summarise([7])).toMatchObject({ median: 7, q1: 7, q3: 7 });
  expect(() => summarise([])).toThrow('there are no values');
  expect(() => summarise([1, Number.NaN])).toThrow('no number');
});

test('a goal is judged by the median: of the ratio, or of the value; without a floor a ratio is not', () => {
  const [low, high] = [summarise([0.8]), summarise([0.9])];
  const both = (ours: Summary, of: Summary | null) => ({ ours, ratio: of });
  const ratio = { of: 'ratio', is: 'at least', limit: 0.9 } as const;
  expect(judge(ratio, both(low, high))).toBe('reached');
  expect(judge(ratio, both(high, low))).toBe('missed');
  expect(judge(ratio, both(high, null))).toBe('no floor');
  expect(judge({ of: 'value', is: 'at most', limit: 0.8 }, both(low, null))).toBe('reached');
  expect(judge(null, both(low, high), false)).toBe('no goal');
  expect(judge(ratio, both(low, high), false)).toBe('too few');
});

test('ratios are taken round by round; a floor of nothing gives none', () => {
  expect(ratios([2, 6], [4, 3])).toEqual([0.5, 2]);
  expect(ratios([2, 6], [0])).toEqual([undefined, undefined]);
  expect(ratios([2, 6], [-1, 3])).toEqual([undefined, 2]);
  expect(medianRound([9, 3, 8], [0, 2, 4])).toBe(1);
});

test('rounds take turns in one order, so that no side follows upon itself, and the first of each does not count', async () => {
  const order: string[] = [];
  const result = await runBench(
    fake(order, (side, round) => (round === 0 ? 1000 : side === 'ours' ? 8 : 10)),
    context(),
    2,
  );
  const sides = ['ours', 'floor', 'ours', 'floor', 'ours', 'floor'].map((side) => `/a ${side}`);
  expect(order).toEqual([...sides, 'stop']);
  const [rate, own] = result.measures;
  expect(rate).toMatchObject({ ours: { median: 8, rounds: 2 }, ratio: { median: 0.8 }, verdict: 'missed' });
  expect(own).toMatchObject({ floor: null, ratio: null, verdict: 'no goal' });
});

test('rounds that begin anew go the other way round every other time, and each counts', async () => {
  const order: string[] = [];
  const anew = { ...fake(order, () => 1), fresh: true } as const;
  await runBench(anew, context(), 3);
  const sides = ['ours', 'floor', 'floor', 'ours', 'ours', 'floor'].map((side) => `/a ${side}`);
  expect(order).toEqual([...sides, 'stop']);
});

test('rounds of one world that is warm keep their order, and each counts', async () => {
  const order: string[] = [];
  const warm = { ...fake(order, () => 1), warmedUp: true } as const;
  await runBench(warm, context(), 2);
  const sides = ['ours', 'floor', 'ours', 'floor'].map((side) => `/a ${side}`);
  expect(order).toEqual([...sides, 'stop']);
});

test('the more rounds, the more starts share them, an even number; every other one goes the other way round', async () => {
  const measured = async (runs: number, profiles: string | null = null) => {
    const order: string[] = [];
    const bench = { ...fake(order, () => 1), roundsAStart: 2 };
    const { measures } = await runBench(bench, { ...context(), profiles }, runs);
    const firsts = order.filter((_what, index) => index === 0 || order[index - 1] === 'stop');
    return { rounds: measures[0]?.ours.rounds, firsts: firsts.map((what) => what.slice(3)) };
  };
  const turns = ['ours', 'floor'];
  expect(await measured(9)).toEqual({ rounds: 9, firsts: [...turns, ...turns] });
  expect(await measured(7)).toEqual({ rounds: 7, firsts: turns });
  expect(await measured(2)).toEqual({ rounds: 2, firsts: turns });
  expect(await measured(1)).toEqual({ rounds: 1, firsts: ['ours'] });
  expect(await measured(9, '/p')).toEqual({ rounds: 9, firsts: ['ours'] });
});

test('what was started is stopped when a round fails', async () => {
  const order: string[] = [];
  const failing = fake(order, () => {
    throw new Error('failed');
  });
  await expect(runBench(failing, context())).rejects.toThrow('failed');
  expect(order.at(-1)).toBe('stop');
});

test('rounds that were whole before one failed are kept, as many of each side, and told why there are no more', async () => {
  const order: string[] = [];
  const failing = fake(order, (side, round) => {
    if (side === 'floor' && round === 3) throw new Error('the floor fell');
    return round;
  });
  const result = await runBench(failing, context(), 5);
  expect(result.failure).toBe('the floor fell');
  expect(result.measures[0]).toMatchObject({ ours: { values: [1, 2] }, floor: { values: [1, 2] } });
  expect(result.plots).toHaveLength(1);
  expect(order.filter((what) => what === 'stop')).toHaveLength(1);
});

test('starts of before one that failed are kept', async () => {
  const often = { ...fake([], () => 1), roundsAStart: 1 };
  let starts = 0;
  const start: typeof often.start = async (asked) => {
    starts += 1;
    if (starts === 3) throw new Error('no room');
    return often.start(asked);
  };
  const result = await runBench({ ...often, start }, context(), 4);
  expect([result.failure, result.measures[0]?.ours.rounds]).toEqual(['no room', 2]);
});

test('benches are chosen by the beginning of their names; every one has a name of its own', async () => {
  const benches = await loadBenches();
  const names = benches.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const named = [fake([], () => 1)];
  expect(chooseBenches(named, ['fa'])).toEqual(named);
  const longer = { ...fake([], () => 1), name: 'fakes' };
  expect(chooseBenches([...named, longer], ['fake'])).toEqual(named);
  expect(() => chooseBenches(named, ['nothing'])).toThrow('there is no bench "nothing"; there are fake');
});

test('what the design asks for has its benches, and every bench is named there', async () => {
  const names = (await loadBenches()).map(({ name }) => name);
  expect(new Set(ASKED_FOR.flatMap(([, benches]) => benches))).toEqual(new Set(names));
});

test('what stands in the report is not replaced by fewer, nor by fewer rounds', async () => {
  const bench = { ...fake([], () => 1), goalsFrom: 20 };
  const result = await runBench(bench, context(), 3);
  const entry = { result, machine: describeMachine(), command: '', date: '' };
  const refused = (n: number | null, runs: number | null) => () =>
    assertWorthWriting(bench, { n, runs }, [entry]);
  expect(refused(null, null)).toThrow(
    'failed to write fake: its goals are for 20; next: ask for it with --n 20, or --force',
  );
  expect(refused(20, 2)).toThrow('3 rounds of it are written there; next: ask for it with --runs 3');
  expect(refused(20, 3)).not.toThrow();
});

test('the commands that make the whole page name every bench, and none of them is refused', async () => {
  const all = await loadBenches();
  const entries = readEntries('docs');
  const lines = readFileSync('CONTRIBUTING.md', 'utf8').matchAll(
    /^npm run bench -- ([^#\n]*--write[^#\n]*)/gm,
  );
  const named = [...lines].flatMap(([, words = '']) => {
    const asked = readArguments(words.trim().split(/ +/));
    const benches = chooseBenches(all, asked.names);
    if (!asked.force)
      for (const bench of benches) expect(() => assertWorthWriting(bench, asked, entries)).not.toThrow();
    return benches.map(({ name }) => name);
  });
  expect(named.toSorted()).toEqual(all.map(({ name }) => name));
});

test('options that npm took for its own, for there is no -- before them, are told of', () => {
  const asked = readArguments(['api-get', '5', '3']);
  expect(() => assertNotTakenByNpm(asked, { npm_config_runs: 'true' })).toThrow(
    'npm has taken options for its own (--runs, 5, 3); next: put -- before all options, npm run bench -- …',
  );
  const whole = readArguments(['api-get', '--n', '5']);
  expect(() => assertNotTakenByNpm(whole, { npm_config_registry: 'r', n: '5' })).not.toThrow();
});

test('the list tells how many there are without --n apart from how many the goals are for', () => {
  const [many, any] = [fake([], () => 1), { ...fake([], () => 1), name: 'other' }];
  const lines = listed([{ ...many, what: 'Of {n}.', goalsFrom: 5000 }, any]).split('\n');
  expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
    ['bench', 'n', 'goals from', 'what is measured, of n'],
    ['fake', '10', '--n 5000', 'Of 10.'],
    ['other', '10', 'any', 'Nothing.'],
  ]);
});

test('a busy machine is warned of, an idle one is not', () => {
  const machine = describeMachine();
  expect(machine.kubernetes).toMatch(/^\d+\.\d+\.\d+/);
  expect(machine.postgresql).not.toBe('unknown');
  expect(busyWarning({ ...machine, cores: 2, loadAverage: 0.4 })).toBeNull();
  expect(busyWarning({ ...machine, cores: 2, loadAverage: 4 })).toContain('load average 4 on 2 cores');
});

test('the usage of a process is read from /proc; its share of a core is taken between two looks', () => {
  const usage = processUsage(process.pid);
  expect(usage.rssMib).toBeGreaterThan(10);
  expect(usage.cpuSeconds).toBeGreaterThan(0);
  const at = (seconds: number, cpuSeconds: number) => ({ seconds, cpuSeconds, rssMib: 1, peakMib: 1 });
  expect(cpuShare([at(0, 1), at(1, 9), at(4, 2)])).toBe(0.25);
  expect(cpuShare([at(0, 1)])).toBe(0);
});

test('axes have round steps from nothing to beyond the most; texts are escaped', () => {
  expect(ticks(9)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(ticks(0.3)).toEqual([0, 0.1, 0.2, 0.3]);
  expect(ticks(0)).toEqual([0, 1]);
  const svg = drawPlot({
    name: 'p',
    title: 'a < b',
    x: 'n',
    y: 's',
    lines: [{ name: 'l', points: [[0, 1]] }],
  });
  expect(svg).toContain('a &lt; b');
  expect(svg).toContain('polyline');
});

test('numbers are short', () => {
  expect([1234.5678, 12.345, 1.2345, 0.12345].map(shortNumber)).toEqual(['1235', '12.3', '1.23', '0.123']);
});

test('a report replaces what was measured anew and keeps the rest', async () => {
  const docs = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  try {
    const result = await runBench(
      fake([], () => 5),
      context(),
    );
    const entry = (name: string, command: string): Entry => ({
      result: { ...result, name },
      machine: describeMachine(),
      command,
      date: '2026-01-01',
    });
    writeReport(docs, [entry('b', 'old'), entry('a', 'kept')], []);
    writeReport(docs, [entry('b', 'new')], []);
    expect(readEntries(docs).map(({ command }) => command)).toEqual(['kept', 'new']);
    const page = readFileSync(join(docs, 'benchmarks.md'), 'utf8');
    expect(page).toContain(
      '| [b](#b) | rate, req/s | 5 (5–5) | 5 (5–5) | 1 (1–1) | ≥ 0.9 × floor | reached |',
    );
    expect(readFileSync(join(docs, 'benchmarks', 'b-p.svg'), 'utf8')).toContain('T &lt; U');
  } finally {
    rmSync(docs, { recursive: true, force: true });
  }
});

test('a folder that is no checkout is named before anything starts, with what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  try {
    expect(() => assertCheckout(folder)).toThrow(
      `${folder}: there is no src/main.ts in it: it is no checkout`,
    );
    mkdirSync(join(folder, 'src'));
    for (const file of ['src/main.ts', 'package.json']) writeFileSync(join(folder, file), '');
    expect(() => assertCheckout(folder)).toThrow('there is no node_modules in it: run npm ci there');
    mkdirSync(join(folder, 'node_modules'));
    assertCheckout(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

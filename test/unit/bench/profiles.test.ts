import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Asked } from '../../bench/command-line.ts';
import type { CpuProfile } from '../../bench/cpu-profile.ts';
import { profiled, toldProfiles } from '../../bench/profiles.ts';
import { measure } from '../../bench/run.ts';
import { tellingAtEnd } from '../../bench/statements.ts';
import { fake } from './fake.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-bench-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
  vi.restoreAllMocks();
});

/** Of a process that did one thing, seen so often. */
function writeProfile(file: string, samples: number): void {
  const callFrame = { functionName: 'decide', url: 'file:///x/src/operator/decide.ts', lineNumber: 4 };
  const profile: CpuProfile = {
    nodes: [{ id: 1, callFrame }],
    samples: Array.from({ length: samples }, () => 1),
    timeDeltas: Array.from({ length: samples }, () => 500),
  };
  writeFileSync(join(folder, file), JSON.stringify(profile));
}

test("a profile's file is named by what the process is; other options for Node stay, and without a profile all do", () => {
  const settings = { BERTH_PORT: '0', NODE_OPTIONS: '--max-old-space-size=300' };
  expect(profiled({ profiles: null }, 'operator', settings)).toEqual(settings);
  const dir = join(folder, 'A');
  const { NODE_OPTIONS, ...others } = profiled({ profiles: dir }, 'converge-operator', settings);
  expect(others).toEqual({ BERTH_PORT: '0' });
  expect(NODE_OPTIONS).toMatch(/ --max-old-space-size=300$/);
  execFileSync(process.execPath, ['-e', '1'], { env: { ...process.env, NODE_OPTIONS } });
  expect(readdirSync(dir)).toEqual([expect.stringMatching(/^converge-operator\.\d+\.cpuprofile$/)]);
});

test('profiles are told by name, those of checkouts too; those of processes that only started are not', () => {
  mkdirSync(join(folder, 'A'));
  writeProfile('operator.2.cpuprofile', 2000);
  writeProfile('listener.3.cpuprofile', 2000);
  writeProfile('A/api.4.cpuprofile', 2000);
  writeProfile('api.1.cpuprofile', 1999);
  const told = toldProfiles(folder);
  expect(told.map((text) => text.split('\n')[0])).toEqual([
    'A/api.4.cpuprofile',
    'listener.3.cpuprofile',
    'operator.2.cpuprofile',
  ]);
  expect(told[0]).toContain('100.0 %  decide src/operator/decide.ts:5');
});

test('with --json standard output holds one JSON document, also with profiles', async () => {
  writeProfile('operator.2.cpuprofile', 2000);
  const out = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const beside = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const asked: Asked = {
    names: [],
    checkouts: null,
    n: null,
    runs: 1,
    json: true,
    write: false,
    force: false,
    profile: folder,
    list: false,
    help: false,
  };
  await measure(asked, [fake([], () => 5)], { all: [], typed: 'fake --json' });
  const written = out.mock.calls.flat().join('\n');
  expect(JSON.parse(written)).toMatchObject({ results: [{ name: 'fake' }] });
  expect(beside.mock.calls.flat().join('\n')).toContain('operator.2.cpuprofile');
});

test('what took PostgreSQL longest is told as progress is, before the server stops', async () => {
  const out = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const order: string[] = [];
  const server = { url: 'postgres://server', port: 5, stop: async () => void order.push('stop') };
  const telling = tellingAtEnd(
    server,
    (line) => order.push(line),
    async (url) => `statements of ${url}`,
  );
  expect(telling.port).toBe(5);
  await telling.stop();
  expect(order).toEqual(['statements of postgres://server', 'stop']);
  expect(out).not.toHaveBeenCalled();
});

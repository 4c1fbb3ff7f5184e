import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ROOT, readSource } from '../../../../scripts/release/source.ts';
import { VERSION } from '../../../installation/version.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-release-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('readSource', () => {
  test('takes the date from SOURCE_DATE_EPOCH', () => {
    const { timestamp } = readSource({ SOURCE_DATE_EPOCH: '1700000000' });
    expect(timestamp.toISOString()).toBe('2023-11-14T22:13:20.000Z');
  });

  test.each(['', 'today', '-1', '1e9'])('rejects the date %j', (text) => {
    expect(() => readSource({ SOURCE_DATE_EPOCH: text })).toThrow('is not a number of seconds; next:');
  });

  const CHART_FILE = 'manifests/helm/berth/Chart.yaml';
  /** A checkout with the files that are read, and an edited chart. */
  const checkout = (from = '', to = '') => {
    mkdirSync(join(folder, dirname(CHART_FILE)), { recursive: true });
    cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
    writeFileSync(join(folder, CHART_FILE), readFileSync(join(ROOT, CHART_FILE), 'utf8').replace(from, to));
    return folder;
  };
  const EPOCH = { SOURCE_DATE_EPOCH: '1700000000' };

  test('has no commit outside of a git repository, and then needs a date', () => {
    expect(readSource(EPOCH, checkout())).toMatchObject({ version: VERSION, revision: '' });
    expect(() => readSource({}, checkout())).toThrow('is not a git repository; next: set SOURCE_DATE_EPOCH');
  });

  test.each(['version', 'appVersion'])('rejects a chart whose %s is not that of package.json', (key) => {
    const root = checkout(`\n${key}: ${VERSION}`, `\n${key}: 0.0.1`);
    expect(() => readSource(EPOCH, root)).toThrow(`next: npm run set-version -- ${VERSION}`);
  });

  test('repeats the message of git when git cannot read the repository', () => {
    writeFileSync(join(checkout(), '.git'), 'nonsense');
    expect(() => readSource(EPOCH, folder)).toThrow(
      /git rev-parse: fatal: invalid gitfile format.*; next: run `git status` in /,
    );
  });
});

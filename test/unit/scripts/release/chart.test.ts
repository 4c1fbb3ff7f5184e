import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { CHART } from '../../../../scripts/manifests.ts';
import { stageChart } from '../../../../scripts/release/chart.ts';

const IMAGE = { repository: 'registry.example:5000/berth', digest: `sha256:${'a'.repeat(64)}` };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-chart-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const parsed = (chart: string, file: string) => parse(readFileSync(join(chart, file), 'utf8'));

test('the chart of a release has the repository as a value and the digest as an annotation', () => {
  const chart = stageChart(folder, IMAGE);
  const { annotations, ...metadata } = parsed(chart, 'Chart.yaml');
  const original = parsed(CHART, 'Chart.yaml');
  expect(annotations).toEqual({ ...original.annotations, 'berth.dev/image-digest': IMAGE.digest });
  expect(metadata).toEqual({ ...original, annotations: undefined });
  const { image, ...values } = parsed(chart, 'values.yaml');
  const { image: originalImage, ...originalValues } = parsed(CHART, 'values.yaml');
  expect(image).toEqual({ ...originalImage, repository: IMAGE.repository });
  expect(values).toEqual(originalValues);
});

test('the chart of a release has a repository that YAML could read as a number as a text', () => {
  const chart = stageChart(folder, { ...IMAGE, repository: '1e3' });
  expect(parsed(chart, 'values.yaml').image.repository).toBe('1e3');
});

test('the chart of a release has all other files of the checkout without changes', () => {
  const chart = stageChart(folder, IMAGE);
  const changed = globSync('**/*', { cwd: CHART, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(CHART.length + 1))
    .filter((file) => !readFileSync(join(chart, file)).equals(readFileSync(join(CHART, file))));
  expect(changed.sort()).toEqual(['Chart.yaml', 'values.yaml']);
});

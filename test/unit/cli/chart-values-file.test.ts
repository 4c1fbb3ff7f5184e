import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parsePolicy } from '../../../src/app/policy/policy-file.ts';
import { loadChartValues } from '../../../src/cli/admin/chart-values-file.ts';

const directory = mkdtempSync(join(tmpdir(), 'berth-values-'));
afterAll(() => rmSync(directory, { recursive: true }));

const file = (name: string, text: string) => {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
};

test('returns the defaults of the chart when no file sets a value', () => {
  const chart = { policy: undefined, admissionPolicy: true, listenerNamespaces: [] };
  expect(loadChartValues([])).toEqual(chart);
  expect(
    loadChartValues([file('empty', ''), file('null', 'null'), file('others', 'rbac: {scope: cluster}')]),
  ).toEqual(chart);
});

test('reads the policy and the namespaces, and a later file overrides single values', () => {
  const policy = 'custom_url: { refused_hosts: ["console.*"] }';
  const first = file(
    'first',
    JSON.stringify({ policy, rbac: { listenerNamespaces: ['a'] }, hosting: 'cloud' }),
  );
  const second = file('second', 'rbac: { listenerNamespaces: [b, c], admissionPolicy: false }');
  const values = loadChartValues([first, second]);
  expect(values).toEqual({ policy, admissionPolicy: false, listenerNamespaces: ['b', 'c'] });
  expect(parsePolicy({ hosting: 'cloud' }, policy, 'values').custom_url.refused_hosts).toEqual(['console.*']);
});

test('names the file and the invalid value in an error', () => {
  expect(() => loadChartValues([join(directory, 'missing')])).toThrow(/--values: .*missing cannot be read/);
  expect(() => loadChartValues([file('broken', 'rbac: [')])).toThrow(/--values: .*broken cannot be read/);
  expect(() => loadChartValues([file('wrong', 'rbac: { listenerNamespaces: a }')])).toThrow(
    /--values: .*wrong: rbac\.listenerNamespaces/,
  );
  expect(() => parsePolicy({ hosting: 'cloud' }, 'unknown: 1', 'values: policy')).toThrow(/values: policy/);
});

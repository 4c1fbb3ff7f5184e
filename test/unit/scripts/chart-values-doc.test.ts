import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { chartValuesDoc } from '../../../scripts/chart-values-doc.ts';

it('writes a row for each value, with its default and its comment, and paragraphs between tables', () => {
  const page = chartValuesDoc(
    [
      '# About all values.',
      '',
      '# What a is.',
      'a: ""',
      '',
      '# A paragraph.',
      '',
      '# What b is,',
      '# or is not.',
      'b:',
      '  # one | two',
      '  c: [1]',
      '  d: {}',
      'e: null',
      '',
    ].join('\n'),
  );
  expect(page.slice(page.indexOf('\nAbout'))).toBe(
    [
      '',
      'About all values.',
      '',
      '| value | default | description |',
      '| --- | --- | --- |',
      '| `a` | `""` | What a is. |',
      '',
      'A paragraph.',
      '',
      '| value | default | description |',
      '| --- | --- | --- |',
      '| `b` |  | What b is, or is not. |',
      '| `b.c` | `[1]` | one \\| two |',
      '| `b.d` | `{}` |  |',
      '| `e` | `null` |  |',
      '',
    ].join('\n'),
  );
});

it('lists every value at the top of values.yaml', () => {
  const values = readFileSync(new URL('../../../manifests/helm/berth/values.yaml', import.meta.url), 'utf8');
  const page = chartValuesDoc();
  for (const name of Object.keys(parse(values))) expect(page).toMatch(new RegExp(`^\\| \`${name}[\`.]`, 'm'));
});

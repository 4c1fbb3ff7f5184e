import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

test('the decision on runtime dependencies gives a reason for each package', () => {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
  const rows = [...read('docs/decisions/0073-runtime-dependencies.md').matchAll(/^\| `([^`]+)` \|(.*)\|$/gm)];
  expect(rows.map(([, name]) => name)).toEqual(Object.keys(dependencies));
  for (const [, , cells = ''] of rows) {
    const [own, more, reason = ''] = cells.split('|').map((cell) => cell.trim());
    expect([own, more]).toEqual(Array(2).fill(expect.stringMatching(/^\d+\.\d MiB$/)));
    expect(reason.length).toBeGreaterThan(4);
  }
});

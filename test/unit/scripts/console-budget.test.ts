import { expect, test } from 'vitest';
import { BUDGET, checkBudget, filesOf, type Manifest } from '../../../scripts/console/budget.ts';

const MANIFEST: Manifest = {
  'index.html': { file: 'main.js', isEntry: true, imports: ['_shared'], css: ['main.css'] },
  _shared: { file: 'shared.js', imports: ['index.html'] },
  'page.tsx': { file: 'page.js', imports: ['_shared'] },
  'later.tsx': { file: 'later.js' },
};

test('filesOf contains what the chunks import at once, each file once', () => {
  expect(filesOf(MANIFEST, ['index.html', 'page.tsx'])).toEqual([
    'main.js',
    'main.css',
    'shared.js',
    'page.js',
  ]);
});

test('checkBudget fails with the largest files when the first page is too large', () => {
  const sizes: Record<string, number> = { 'main.js': BUDGET, 'shared.js': 1, 'later.js': BUDGET };
  const sizeOf = (file: string) => sizes[file] ?? 0;
  expect(() => checkBudget(MANIFEST, sizeOf, 'page.tsx')).toThrow(/main\.js/);
  expect(checkBudget(MANIFEST, (file) => (file === 'later.js' ? BUDGET : 1), 'page.tsx')).toContain(
    '250.0 KiB',
  );
});

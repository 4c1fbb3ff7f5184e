import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { crowdedFolders, MAX_FILES } from '../../../scripts/check-folders.ts';
import { newFindings, updated, type Vocabulary } from '../../../scripts/check-vocabulary.ts';
import { project } from './project.ts';

const vocabulary: Vocabulary = {
  avoid: { 'mend(?:s|ed)?': 'fix' },
  files: ['src/**/*.ts', 'README.md'],
  except: ['src/generated.ts'],
  known: {},
};

test('reports each line with a word to avoid, with the file, the line and the replacement', () => {
  const root = project({
    'src/a.ts': '// ok\n// It Mends this.',
    'src/generated.ts': '// mends',
    'README.md': 'amend',
  });
  expect(newFindings(root, vocabulary)).toEqual([
    { file: 'src/a.ts', line: 2, found: 'Mends', instead: 'fix' },
  ]);
});

test('accepts the known findings of a file, and reports the file when it has more', () => {
  const root = project({ 'src/a.ts': '// mends' });
  const known = updated(root, vocabulary);
  expect(known.known).toEqual({ 'src/a.ts': 1 });
  expect(newFindings(root, known)).toEqual([]);
  writeFileSync(join(root, 'src/a.ts'), '// mends\n// mended');
  expect(newFindings(root, known)).toHaveLength(2);
});

test('reports a folder with too many files directly in it', () => {
  const names = Array.from({ length: MAX_FILES }, (_, index) => `src/full/${index}.ts`);
  const files = Object.fromEntries([...names, 'src/full/below/a.ts'].map((name) => [name, '']));
  expect(crowdedFolders(project(files))).toEqual([]);
  expect(crowdedFolders(project({ ...files, 'src/full/more.ts': '' }))).toEqual([
    expect.stringContaining(`src/full: ${MAX_FILES + 1} files`),
  ]);
});

test('reports more than three files directly in src/', () => {
  const files = { 'src/a.ts': '', 'src/b.ts': '', 'src/c.ts': '' };
  expect(crowdedFolders(project(files))).toEqual([]);
  expect(crowdedFolders(project({ ...files, 'src/d.ts': '' }))).toHaveLength(1);
});

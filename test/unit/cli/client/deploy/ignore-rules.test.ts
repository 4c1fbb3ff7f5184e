/** What `.gitignore` and `.berthignore` exclude, compared with git itself. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { patternsOf } from '../../../../../src/cli/client/deploy/ignore-rules.ts';
import { emptyFolder, filesOfGit, fill, folderWith, makeRepository, pathsOf, read } from './folders.ts';

/** The files of a repository that are sent, and those that git would add. */
async function compared(files: Readonly<Record<string, string>>): Promise<[string[], string[]]> {
  const folder = folderWith(files);
  makeRepository(folder);
  return [pathsOf(await read(folder)), filesOfGit(folder)];
}

const names = (paths: readonly string[]) => Object.fromEntries(paths.map((path) => [path, path]));

test.each([
  ['folders only with a slash at the end', 'build/\n', ['build/a', 'src/build/a', 'src/other/build']],
  [
    'anchored patterns',
    '/build\ndocs/*.md\n',
    ['build', 'src/build', 'docs/a.md', 'docs/b/a.md', 'x/docs/a.md'],
  ],
  ['negated patterns', '*.log\n!keep.log\n', ['a.log', 'keep.log', 'x/keep.log']],
  ['no file below an excluded folder', 'build/\n!build/keep\n', ['build/keep', 'build/other']],
  [
    'a file below a folder whose content is excluded',
    'build/*\n!build/keep\n',
    ['build/keep', 'build/other'],
  ],
  ['two stars', 'a/**/z\n**/tmp\nlogs/**\n', ['a/z', 'a/b/z', 'a/b/c/z', 'x/tmp', 'logs/a/b', 'z']],
  ['comments, empty lines and spaces', '# a\n\n\\#b\nc  \nd\\ \n', ['# a', '#b', 'c', 'd ', 'd']],
  ['names that begin with an exclamation mark', '\\!a\n', ['!a', 'a']],
  [
    'classes and question marks',
    '*.py[co]\nfile?.txt\n[Dd]ebug/\n',
    ['a.pyc', 'a.py', 'file1.txt', 'file12.txt', 'Debug/a', 'debug/a'],
  ],
  ['negated classes', '[!a]x\n[^b-d]y\n', ['ax', 'bx', 'by', 'ey', 'cy']],
  ['classes of characters', 'a[[:digit:]]\nb[[:alpha:][:digit:]]\n', ['a1', 'ab', 'b1', 'bb', 'b-']],
  ['escaped wildcards', 'a\\*\nb\\?\n\\[c]\n', ['a*', 'ab', 'b?', 'bc', '[c]', 'c']],
  ['upper case', 'README\n', ['readme', 'README']],
  ['carriage returns and a byte order mark', '\uFEFFa\r\nb\r\n', ['a', 'b', 'c']],
  ['stars in the middle of a name', 'foo*bar\n*.min.*\n', ['foo1bar', 'foo/bar', 'a.min.js', 'min.js']],
  ['everything but some files', '*\n!*/\n!*.ts\n', ['a.ts', 'a.js', 'x/y/b.ts', 'x/y/b.js']],
  ['a trailing backslash', 'a\\\nb\n', ['a', 'b']],
])('excludes what git excludes: %s', async (_what, rules, paths) => {
  const [sent, added] = await compared({ '.gitignore': rules, ...names(paths) });
  expect(sent).toEqual(added);
  expect(added.length).toBeLessThan(paths.length + 1);
});

test('applies the files of nested folders below them, and gives them precedence', async () => {
  const [sent, added] = await compared({
    '.gitignore': '*.log\n/dist\ntmp/\n',
    'app/.gitignore': '!keep.log\n/local\nb/c\n*.tmp\n!tmp/\n',
    'app/[x]/.gitignore': 'y\n',
    'app/a b/.gitignore': '/y\n!*.log\n',
    ...names(['a.log', 'keep.log', 'app/keep.log', 'app/x/keep.log', 'app/x/a.log', 'app/dist/a', 'dist/a']),
    ...names([
      'app/local/a',
      'app/x/local',
      'app/b/c',
      'app/x/b/c',
      'app/a.tmp',
      'app/tmp/a',
      'x/tmp/a',
      'local',
    ]),
    ...names(['app/[x]/y', 'app/x/y', 'app/[x]/z/y', 'app/a b/y', 'app/a b/z/y', 'app/a b/z/a.log']),
  });
  expect(sent).toEqual(added);
  expect(sent).toContain('app/keep.log');
});

test('applies the rules of the folders above, up to the root of the repository', async () => {
  const folder = folderWith({
    '.gitignore': 'outside\n',
    'repository/.gitignore': 'node_modules/\n/apps/web/generated\n*.log\n',
    'repository/apps/.gitignore': '!keep.log\n',
    ...names(['repository/apps/web/a', 'repository/apps/web/outside', 'repository/apps/web/generated']),
    ...names([
      'repository/apps/web/keep.log',
      'repository/apps/web/a.log',
      'repository/apps/web/node_modules/x',
    ]),
  });
  makeRepository(join(folder, 'repository'));
  expect(pathsOf(await read(join(folder, 'repository/apps/web')))).toEqual(['a', 'keep.log', 'outside']);
});

test('sends a folder that the repository excludes when the user names it', async () => {
  const folder = folderWith({ '.gitignore': 'dist/\n*.map\n', 'dist/a.js': '', 'dist/a.map': '' });
  makeRepository(folder);
  expect(pathsOf(await read(join(folder, 'dist')))).toEqual(['a.js', 'a.map']);
});

test('reads no rules above the folder when there is no repository', async () => {
  const folder = folderWith({ '.gitignore': '*\n', 'app/a': '' });
  expect(pathsOf(await read(join(folder, 'app')))).toEqual(['a']);
});

test('.berthignore has the same syntax, and takes precedence over every .gitignore', async () => {
  const folder = folderWith({
    '.gitignore': 'dist/\n',
    '.berthignore': '!dist/\n/docs\n*.test.js\n',
    'app/.gitignore': 'generated\n',
    'app/.berthignore': '!generated\n!keep.test.js\n',
    ...names([
      'dist/a.js',
      'docs/a',
      'app/docs/a',
      'a.test.js',
      'app/keep.test.js',
      'app/generated',
      'app/a',
    ]),
  });
  expect(pathsOf(await read(folder))).toEqual(
    ['.berthignore', '.gitignore', 'app/.berthignore', 'app/.gitignore'].concat([
      'app/a',
      'app/docs/a',
      'app/generated',
      'app/keep.test.js',
      'dist/a.js',
    ]),
  );
});

test('a link to a file with rules has no effect, as for git', async () => {
  const folder = folderWith({ rules: 'a\n', '.gitignore': { link: 'rules' }, a: '' });
  makeRepository(folder);
  expect(pathsOf(await read(folder))).toEqual(filesOfGit(folder));
});

test.each([
  ['', 'a\nb/', ['a', 'b/']],
  [
    'x/',
    'a\n/b\nc/d\ne/\n!f\n#g\n\\#h\n\n/',
    ['/x/**/a', '/x/b', '/x/c/d', '/x/**/e/', '!/x/**/f', '/x/**/#h'],
  ],
  ['x*/[y]/', 'a', ['/x\\*/\\[y]/**/a']],
])('writes the patterns of the folder "%s" as patterns of the root', (folder, text, patterns) => {
  expect(patternsOf(folder, text)).toEqual(patterns);
});

/** Paths and patterns from few letters, so that they often match. */
const name = fc.constantFrom('a', 'b', 'ab', 'a.b', 'A');
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
const part = fc.constantFrom(
  'a',
  'b',
  'ab',
  '*',
  '**',
  'a*',
  '*b',
  '?',
  'a?',
  '[ab]',
  '[!a]',
  '[^b]',
  '*.b',
  '.',
  'A',
);
const pattern = fc
  .record({
    negated: fc.boolean(),
    anchored: fc.boolean(),
    parts: fc.array(part, { minLength: 1, maxLength: 3 }),
    isFolder: fc.boolean(),
  })
  .map(
    ({ negated, anchored, parts, isFolder }) =>
      `${negated ? '!' : ''}${anchored ? '/' : ''}${parts.join('/')}${isFolder ? '/' : ''}`,
  );
const rules = fc.array(pattern, { maxLength: 4 }).map((lines) => lines.join('\n'));

test('excludes what git excludes, for random rules in random folders', async () => {
  const property = fc.asyncProperty(
    fc.uniqueArray(path, { minLength: 1, maxLength: 8 }),
    fc.dictionary(fc.constantFrom('.', 'a', 'a/b', 'b'), rules),
    async (paths, rulesOf) => {
      const folder = emptyFolder();
      makeRepository(folder);
      // A path that is a folder of another one is no file.
      const files = paths.filter((each) => !paths.some((other) => other.startsWith(`${each}/`)));
      fill(folder, names(files));
      for (const [at, text] of Object.entries(rulesOf)) {
        const isFile = files.some((each) => at === each || at.startsWith(`${each}/`));
        if (isFile) continue;
        mkdirSync(join(folder, at), { recursive: true });
        fill(join(folder, at), { '.gitignore': text });
      }
      const added = filesOfGit(folder);
      if (added.length === 0) await expect(read(folder)).rejects.toThrow('has no files to send');
      else expect(pathsOf(await read(folder))).toEqual(added);
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

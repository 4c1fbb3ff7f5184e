import { execFile } from 'node:child_process';
import {
  globSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { javascriptOf, stripFolder } from '../../../scripts/strip-types.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Loads all modules except the programs. Ends with 1 if node has loaded the module that removes types. */
const LOAD_ALL = `
  import { globSync } from 'node:fs';
  import { resolve } from 'node:path';
  const programs = ['src/main.js', 'src/cli/package/main.js'];
  for (const file of globSync('src/**/*.js')) if (!programs.includes(file)) await import(resolve(file));
  process.exitCode = process.moduleLoadList.some((name) => name.includes('amaro')) ? 1 : 0;
`;

test.each([
  [`import { a } from './a.ts';`, `import { a } from './a.js';`],
  [`import '../b/a.ts';`, `import '../b/a.js';`],
  [`const a = await import('./a.ts');`, `const a = await import('./a.js');`],
  [`export * from './a.ts';`, `export * from './a.js';`],
  [`import type { A } from './a.ts';\nlet a: A;`, `${' '.repeat(32)}\nlet a   ;`],
  [
    `import { a } from 'a.ts';\nconst b = 'from ./a.ts';`,
    `import { a } from 'a.ts';\nconst b = 'from ./a.ts';`,
  ],
])('removes types and keeps lines and columns: %s', (source, expected) => {
  expect(javascriptOf(source)).toBe(expected);
});

test('rejects syntax that is more than types', () => {
  expect(() => javascriptOf('enum A { B }')).toThrow(SyntaxError);
});

test.each([
  `const a = await import(\n  './a.ts'\n);`,
  `import { a } from "./a.ts";`,
  `new URL('./a.ts', import.meta.url);`,
  'const a = await import(`../a.ts`);',
])('rejects a path that does not exist after the conversion: %s', (source) => {
  expect(() => javascriptOf(source)).toThrow(/a\.ts.* would not be found as JavaScript; next: /);
});

test('names the file that it cannot convert, or the folder without sources', () => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-javascript-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  expect(() => stripFolder(folder, join(folder, 'to'))).toThrow(`failed to find sources in ${folder}`);
  writeFileSync(join(folder, 'a.ts'), 'enum A { B }');
  expect(() => stripFolder(folder, join(folder, 'to'))).toThrow(join(folder, 'a.ts'));
});

test('converts all of src to JavaScript that loads, with the same lines and without types', async () => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-javascript-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ['package.json', 'crds', 'node_modules'])
    symlinkSync(join(root, name), join(folder, name));
  stripFolder(join(root, 'src'), join(folder, 'src'));

  const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').length;
  for (const file of globSync('**/*', { cwd: join(root, 'src'), withFileTypes: true })) {
    const path = join(file.parentPath, file.name);
    // Vite builds the console.
    if (!file.isFile() || path.startsWith(join(root, 'src/console/'))) continue;
    const copy = path.replace(join(root, 'src'), join(folder, 'src')).replace(/\.ts$/, '.js');
    expect(linesOf(copy), path).toBe(linesOf(path));
  }
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', LOAD_ALL], { cwd: folder });
  const help = await promisify(execFile)(process.execPath, ['src/main.js', '--help'], { cwd: folder });
  expect(help.stdout).toMatch(/^Usage: berth/);
});

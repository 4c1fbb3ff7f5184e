import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const CHECKOUT = fileURLToPath(new URL('../../..', import.meta.url));
const FOLDER = new URL('../../bench/variants/', import.meta.url);
const patches = readdirSync(FOLDER).filter((name) => name.endsWith('.patch'));
const page = readFileSync(new URL('README.md', FOLDER), 'utf8');

test.each(patches)('%s applies, and is told of', async (name) => {
  const file = fileURLToPath(new URL(name, FOLDER));
  await promisify(execFile)('git', ['apply', '--check', file], { cwd: CHECKOUT });
  expect(page).toContain(`| \`${name.replace('.patch', '')}\` |`);
});

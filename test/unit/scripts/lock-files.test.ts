import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Lock {
  readonly packages: Record<string, { resolved?: string; link?: boolean; integrity?: string }>;
}

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

// An address would bind an installation to one registry, and ignore a mirror in the environment.
test.each(['', 'scripts/openapi/'])('%spackage-lock.json names no registry', (folder) => {
  const { packages } = JSON.parse(read(`${folder}package-lock.json`)) as Lock;
  const { '': _project, ...installed } = packages;
  expect(Object.values(installed).filter(({ integrity }) => integrity === undefined)).toEqual([]);
  expect(Object.entries(packages).filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  expect(read(`${folder}.npmrc`).split('\n')).toContain('omit-lockfile-registry-resolved=true');
});

test('the root does not depend on the generator of the API types', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as Lock;
  expect(Object.keys(packages)).not.toContain('node_modules/openapi-typescript');
});

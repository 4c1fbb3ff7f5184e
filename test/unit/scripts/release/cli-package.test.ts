import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { modules } from '../../../../scripts/release/cli-modules.ts';
import { buildCliPackage, packageFiles } from '../../../../scripts/release/cli-package.ts';

const projectFile = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');

const BUNDLED = ['commander', 'ignore', 'modern-tar', 'openapi-fetch', 'openapi-typescript-helpers', 'yaml'];

test('contains no module and no package of the server', () => {
  const { sources, packages } = modules();
  expect(packages).toEqual(['commander', 'ignore', 'modern-tar', 'openapi-fetch', 'yaml']);
  const modulesOf = (path: string) => path.split('/').slice(0, 2).join('/');
  const found = [...new Set([...sources.keys()].map(modulesOf))].sort();
  expect(found.filter((path) => !path.endsWith('.js'))).toEqual([
    'cli/client',
    'cli/command',
    'cli/completion',
    'cli/package',
  ]);
  expect(found.filter((path) => path.endsWith('.js'))).toEqual([
    'cli/command-line.js',
    'cli/program.js',
    'cli/server-commands.js',
    'config/client-settings.js',
  ]);
});

test('contains the locked versions of its dependencies, their licenses, and no address', () => {
  const files = new Map(packageFiles('1.2.3').map(({ path, content }) => [path, String(content)]));
  const manifest = JSON.parse(files.get('package.json') ?? '') as Record<string, object>;
  const { packages } = JSON.parse(projectFile('package-lock.json')) as {
    packages: Record<string, { version: string }>;
  };
  for (const [name, version] of Object.entries(manifest['dependencies'] ?? {}))
    expect(version, name).toBe(packages[`node_modules/${name}`]?.version);
  const bundled = new Set(
    [...files.keys()].flatMap((path) => /^node_modules\/([^/]+)/.exec(path)?.[1] ?? []),
  );
  expect([...bundled]).toEqual(BUNDLED);
  const licensed = [...files.keys()].map((path) => /^node_modules\/([^/]+)\/LICENSE(-MIT)?$/.exec(path)?.[1]);
  for (const name of bundled) expect(licensed).toContain(name);
  expect(manifest).toMatchObject({ name: 'berth-cli', version: '1.2.3', license: 'Apache-2.0' });
  expect(files.get('package.json')).not.toMatch(/https?:|resolved|integrity/);
  expect([...files.keys()].filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))).toEqual([]);
});

test('has the same bytes when it is built again with the same version and time', async () => {
  const output = mkdtempSync(join(tmpdir(), 'berth-cli-package-'));
  onTestFinished(() => rmSync(output, { recursive: true }));
  const timestamp = new Date(1_700_000_000_000);
  const build = async () => {
    const name = await buildCliPackage({ version: '1.2.3', output, timestamp });
    expect(name).toBe('berth-cli-1.2.3.tgz');
    return readFileSync(join(output, name));
  };
  const first = await build();
  writeFileSync(join(output, 'berth-cli-1.2.3.tgz'), 'an older file');
  expect((await build()).equals(first)).toBe(true);
});

test('contains the packages of the folder that is named, not those of the checkout', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-cli-modules-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of BUNDLED) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'package.json'), JSON.stringify({ name, version: '9.9.9' }));
  }
  const files = packageFiles('1.2.3', folder);
  expect(files.filter(({ path }) => path.startsWith('node_modules/yaml/'))).toHaveLength(1);
  const manifest = files.find(({ path }) => path === 'package.json');
  expect(JSON.parse(String(manifest?.content))).toMatchObject({ dependencies: { yaml: '9.9.9' } });
});

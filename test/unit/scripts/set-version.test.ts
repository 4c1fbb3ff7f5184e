import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { changedFiles } from '../../../scripts/set-version.ts';
import { VERSION } from '../../installation/version.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const script = 'scripts/set-version.ts';

test('every file of the checkout has the version of package.json', () => {
  expect([...changedFiles(root, VERSION).keys()], `npm run set-version -- ${VERSION}`).toEqual([]);
});

/** A copy of the files that contain the version. */
function copyOfCheckout(): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-set-version-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const path of [script, ...changedFiles(root, '98.7.6').keys()]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(root, path), join(folder, path));
  }
  return folder;
}

test('writes a version, and then another one, into package.json, its lock file, the chart and the pages', () => {
  const folder = copyOfCheckout();
  const text = (path: string) => readFileSync(join(folder, path), 'utf8');
  for (const version of ['99.20.0-rc.1', '99.20.0']) {
    const { status, stdout } = spawnSync(process.execPath, [join(folder, script), version], {
      encoding: 'utf8',
    });
    expect(status).toBe(0);
    expect(stdout).toContain('next: npm run manifests && npm run docs');
    const lock = JSON.parse(text('package-lock.json'));
    expect([JSON.parse(text('package.json')).version, lock.version, lock.packages[''].version]).toEqual([
      version,
      version,
      version,
    ]);
    expect(parse(text('manifests/helm/berth/Chart.yaml'))).toMatchObject({ version, appVersion: version });
    expect(text('README.md')).toContain(
      `oci-archive:berth-image-${version}.oci.tar docker://REGISTRY/berth:${version}\n`,
    );
    const install = text('docs/install.md');
    expect(install).toContain(`| \`berth-chart-${version}.tgz\` |`);
    expect(install).toContain(`oci://REGISTRY/charts/berth --version ${version} `);
    // Only versions differ.
    expect(install.replaceAll(version, VERSION)).toBe(readFileSync(join(root, 'docs/install.md'), 'utf8'));
  }
});

test.each([[], ['1.2'], ['v1.2.3'], ['1.2.3+build'], ['1.2.3', '1.2.4']])(
  'rejects %j in one line',
  (...args) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, script), ...args], {
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^name one version.*\n$/);
  },
);

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkProgram, programsOnPath, versionIn } from '../../cluster/path-programs.ts';
import { folderOnPath } from '../../cluster/postgres-binaries.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'path-programs-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function program(name: string, script: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

test.each([
  ['Kubernetes v1.36.3', '1.36.3'],
  ['Client Version: v1.36.0-gke.100\nKustomize Version: v5.5.0', '1.36.0'],
  ['etcd Version: 3.6.4\nGit SHA: 1a2b3c4\nGo Version: go1.24.5', '3.6.4'],
  ['kwok version v0.8.0 go1.26.8 (linux/amd64)', '0.8.0'],
  ['postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)', '15.18.0'],
])('versionIn reads the version when a program prints %j', (text, expected) => {
  const version = versionIn(text);
  expect(version && `${version.major}.${version.minor}.${version.patch}`).toBe(expected);
});

test('versionIn returns null when there is no version', () => {
  expect(versionIn('unknown flag: --version')).toBeNull();
});

describe('checkProgram', () => {
  test.each([
    ['kube-apiserver', 'v1.36.3', 'Kubernetes v1.36.0', '1.36.0'],
    ['kube-scheduler', 'v1.36.3', 'Kubernetes v1.36.9', '1.36.9'],
    ['kubectl', 'v1.36.3', 'Client Version: v1.35.2', '1.35.2'],
    ['kubectl', 'v1.36.3', 'Client Version: v1.37.0', '1.37.0'],
    ['etcd', 'v3.7.3', 'etcd Version: 3.5.0', '3.5.0'],
    ['kwok', 'v0.8.0', 'kwok version v0.8.1', '0.8.1'],
    ['postgres', '15.0', 'postgres (PostgreSQL) 18.1', '18.1.0'],
  ])('accepts %s for %s when it prints %j', (name, pinned, output, version) => {
    expect(checkProgram({ name, pinned }, output)).toEqual({ version });
  });

  test.each([
    ['kube-apiserver', 'v1.36.3', 'Kubernetes v1.35.9', 'its version is 1.35.9, and 1.36 is needed'],
    ['kube-apiserver', 'v1.36.3', 'Kubernetes v1.37.0', 'its version is 1.37.0, and 1.36 is needed'],
    ['kubectl', 'v1.36.3', 'v1.32.4-dispatcher', 'its version is 1.32.4, and 1.35 to 1.37 is needed'],
    ['etcd', 'v3.7.3', 'etcd Version: 3.4.30', 'its version is 3.4.30, and 3.5 or newer is needed'],
    ['kwok', 'v0.8.0', 'kwok version v0.7.9', 'its version is 0.7.9, and 0.8.0 or newer is needed'],
    ['kwok', 'v0.8.0', 'kwok version v1.0.0', 'its version is 1.0.0, and 0.8.0 or newer is needed'],
    ['postgres', '15.0', 'postgres (PostgreSQL) 14.9', 'its version is 14.9.0, and 15 or newer is needed'],
    ['etcd', 'v3.7.3', 'built from source', 'it does not print its version'],
    ['etcd', 'v3.7.3', null, 'it does not print its version'],
    ['helm', 'v4.0.0', 'v4.0.0', 'no version is known to fit'],
  ])('rejects %s for %s when it prints %j', (name, pinned, output, reason) => {
    expect(checkProgram({ name, pinned }, output)).toEqual({ reason });
  });
});

test('a program is ignored when it fails or does not answer in time', async () => {
  const lines: string[] = [];
  const programs = [
    { name: 'etcd', path: program('etcd', 'exec sleep 60'), pinned: 'v3.7.3' },
    { name: 'kwok', path: program('kwok', 'echo v0.8.0; exit 1'), pinned: 'v0.8.0' },
  ];
  const used = await programsOnPath(programs, { PATH: '/usr/bin:/bin' }, (line) => lines.push(line), 200);
  expect(used).toEqual({});
  expect(lines).toEqual([
    `Ignoring ${join(folder, 'etcd')}: it does not print its version.`,
    `Ignoring ${join(folder, 'kwok')}: it does not print its version.`,
  ]);
});

describe('folderOnPath', () => {
  test('rejects a PostgreSQL when it is too old', async () => {
    program('postgres', "echo 'postgres (PostgreSQL) 14.1'");
    program('initdb', '');
    await expect(folderOnPath({ PATH: folder }, () => {})).rejects.toThrow(/no PostgreSQL 15 or newer/);
  });

  test('rejects a PostgreSQL when initdb is missing', async () => {
    program('postgres', "echo 'postgres (PostgreSQL) 17.1'");
    await expect(folderOnPath({ PATH: folder }, () => {})).rejects.toThrow(/with initdb/);
  });
});

import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  BinariesMissingError,
  cacheRoot,
  missingBinaries,
  pinnedVersion,
  resolveBinaries,
  resolveKubectl,
} from '../../cluster/binaries.ts';

const names = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl', 'kwok'];
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'binaries-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function executable(path: string, content = '#!/bin/sh\n'): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, 0o755);
}

/** A go command that writes what it was asked to build, and lists no packages. */
const fakeGo = `#!/bin/sh
echo "$1" >> "$FAKE_GO_CALLS"
if [ "$1" = list ]; then exit 0; fi
while [ $# -gt 0 ]; do
  case $1 in -o) out=$2; shift 2; break;; esac
  shift
done
echo "go: downloading something" >&2
for package in "$@"; do
  case $out in */) file=$out\${package##*/};; *) file=$out;; esac
  printf '#!/bin/sh\\n' > "$file"; chmod +x "$file"
done
`;

function withGo(go: string): NodeJS.ProcessEnv {
  executable(join(folder, 'bin', 'go'), go);
  return {
    PATH: `${join(folder, 'bin')}:/usr/bin:/bin`,
    XDG_CACHE_HOME: join(folder, 'cache'),
    FAKE_GO_CALLS: join(folder, 'calls'),
  };
}

describe('pinnedVersion', () => {
  const goMod = [
    'require k8s.io/kubernetes v1.36.3',
    'require (',
    '\tsigs.k8s.io/kwok v0.8.0 // indirect',
    ')',
  ];

  test.each([
    ['k8s.io/kubernetes', 'v1.36.3'],
    ['sigs.k8s.io/kwok', 'v0.8.0'],
  ])('finds the version of %s', (module, version) => {
    expect(pinnedVersion(goMod.join('\n'), module)).toBe(version);
  });

  test('names the module that go.mod does not require', () => {
    expect(() => pinnedVersion(goMod.join('\n'), 'example.test/x')).toThrow(/example\.test\/x: not required/);
  });
});

test('the cache is below XDG_CACHE_HOME when that is set, and below the home folder otherwise', () => {
  expect(cacheRoot({ XDG_CACHE_HOME: '/c' })).toBe('/c/berth/bin');
  expect(cacheRoot({})).toMatch(/\.cache\/berth\/bin$/);
});

describe('resolveBinaries', () => {
  test('uses the programs in the folder KUBEBUILDER_ASSETS', async () => {
    for (const name of names) executable(join(folder, name));
    const found = await resolveBinaries({ env: { KUBEBUILDER_ASSETS: folder, PATH: '' }, log: () => {} });
    expect(Object.keys(found).toSorted()).toEqual(names);
    expect(found.kwok).toBe(join(folder, 'kwok'));
  });

  test('builds each missing program once and keeps it in the cache', async () => {
    const env = withGo(fakeGo);
    const lines: string[] = [];
    const found = await resolveBinaries({ env, log: (line) => lines.push(line) });
    for (const path of Object.values(found)) expect(existsSync(path)).toBe(true);
    expect(found.etcd).toContain(join(folder, 'cache', 'berth', 'bin', 'etcd-v'));
    expect(lines.join('\n')).toMatch(/Building kube-apiserver, .* with Go/);
    const calls = () => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n').length;
    const before = calls();
    await resolveBinaries({ env, log: () => {} });
    expect(calls()).toBe(before);
  });

  test('builds the programs only once when two calls run at the same time', async () => {
    const env = withGo(fakeGo);
    const [first, second] = await Promise.all([
      resolveBinaries({ env, log: () => {} }),
      resolveBinaries({ env, log: () => {} }),
    ]);
    expect(first).toEqual(second);
    // One of the module with Kubernetes and kwok, one of etcd.
    const calls = readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');
    expect(calls.toSorted()).toEqual(['build', 'build', 'list', 'list']);
  });

  test('shows the output of Go when the build fails', async () => {
    const env = withGo('#!/bin/sh\necho "no such module" >&2\nexit 1\n');
    await expect(resolveBinaries({ env, log: () => {} })).rejects.toThrow(
      /failed to build kube-apiserver.*\nno such module/s,
    );
    expect(existsSync(join(folder, 'cache', 'berth', 'bin'))).toBe(true);
  });

  test('names the next steps when Go is not installed', async () => {
    const env = { PATH: folder, XDG_CACHE_HOME: folder };
    const resolving = resolveBinaries({ env, log: () => {}, goFolders: [] });
    await expect(resolving).rejects.toThrow(BinariesMissingError);
    await expect(resolving).rejects.toThrow(/install Go 1\.26.*KUBEBUILDER_ASSETS.*--kubeconfig/s);
  });
});

describe('programs on the PATH', () => {
  const prints = (text: string) => `#!/bin/sh\necho '${text}'\n`;
  const pinned = pinnedVersion(
    readFileSync('test/cluster/control-plane/go.mod', 'utf8'),
    'k8s.io/kubernetes',
  );
  const onPath = () => ({
    PATH: `${join(folder, 'path')}:/usr/bin:/bin`,
    XDG_CACHE_HOME: join(folder, 'cache'),
  });

  beforeEach(() => {
    for (const name of names.filter((each) => each.startsWith('kube-')))
      executable(join(folder, 'path', name), prints(`Kubernetes ${pinned}`));
    executable(join(folder, 'path', 'kubectl'), prints(`Client Version: ${pinned}`));
    executable(join(folder, 'path', 'etcd'), prints('etcd Version: 3.6.4'));
    executable(join(folder, 'path', 'kwok'), prints('kwok version v0.1.0 go1.26 (linux/amd64)'));
  });

  test('are used when their version fits, and ignored with the reason otherwise', async () => {
    const lines: string[] = [];
    const resolving = resolveBinaries({
      env: onPath(),
      log: (line) => lines.push(line),
      goFolders: [],
      usePath: true,
    });
    await expect(resolving).rejects.toThrow(/needs kwok, and there is no Go/);
    expect(lines).toContain(`Using ${join(folder, 'path', 'etcd')} (3.6.4).`);
    expect(lines.join('\n')).toMatch(
      /Ignoring .*\/kwok: its version is 0\.1\.0, and 0\.\d+\.\d+ or newer is needed\./,
    );
    expect(await missingBinaries({ env: onPath(), usePath: true })).toEqual(['kwok']);
  });

  test('are used without Go and without a build when all of them fit', async () => {
    executable(join(folder, 'path', 'kwok'), prints('kwok version v0.99.0'));
    const found = await resolveBinaries({ env: onPath(), log: () => {}, goFolders: [], usePath: true });
    expect(found['kube-apiserver']).toBe(join(folder, 'path', 'kube-apiserver'));
    expect(Object.keys(found).toSorted()).toEqual(names);
  });

  test('are not used unless the caller allows it', async () => {
    expect(await missingBinaries({ env: onPath() })).toHaveLength(names.length);
  });

  test('do not replace a program that the cache contains', async () => {
    const env = { ...onPath(), KUBEBUILDER_ASSETS: join(folder, 'assets') };
    executable(join(folder, 'assets', 'etcd'));
    executable(join(folder, 'path', 'kwok'), prints('kwok version v0.99.0'));
    const found = await resolveBinaries({ env, log: () => {}, usePath: true });
    expect(found.etcd).toBe(join(folder, 'assets', 'etcd'));
  });
});

test('resolveKubectl finds kubectl on the PATH', async () => {
  executable(join(folder, 'kubectl'));
  expect(await resolveKubectl({ env: { PATH: folder } })).toBe(join(folder, 'kubectl'));
});

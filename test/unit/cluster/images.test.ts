import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BinariesMissingError } from '../../cluster/binaries.ts';
import { debianTree } from '../../cluster/images/debian-packages.ts';
import { writeOciLayout } from '../../cluster/images/oci-layout.ts';
import { resolveImageTools } from '../../cluster/images/tools.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'images-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function program(name: string, script: string): void {
  const path = join(folder, 'bin', name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\necho "${name} $*" >> "$CALLS"\n${script}`);
  chmodSync(path, 0o755);
}

const environment = (): NodeJS.ProcessEnv => ({
  PATH: [join(folder, 'bin'), '/usr/bin', '/bin'].join(delimiter),
  XDG_CACHE_HOME: join(folder, 'cache'),
  CALLS: join(folder, 'calls'),
});
const options = () => ({ env: environment(), log: () => {} });

const calls = (name: string): string[] =>
  existsSync(join(folder, 'calls'))
    ? readFileSync(join(folder, 'calls'), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith(`${name} `))
    : [];

describe('resolveImageTools', () => {
  test('builds each requested tool once, and no others', async () => {
    // `go list` counts the packages of a build.
    program(
      'go',
      '[ "$1" != list ] || exit 0; while [ "$1" != -o ]; do shift; done; printf "#!/bin/sh\\n" > "$2"; chmod +x "$2"\n',
    );
    const { crane } = await resolveImageTools(['crane'], options());
    expect(crane).toMatch(/bin\/crane-v[\d.]+-\w+-\w+\/crane$/);
    await resolveImageTools(['crane'], options());
    expect(calls('go build')).toHaveLength(1);
    const { buildctl } = await resolveImageTools(['buildctl'], options());
    expect(dirname(buildctl)).toMatch(/buildkit-v/);
    expect(existsSync(join(dirname(buildctl), 'buildkitd'))).toBe(false);
  });

  test('names the missing tool and the next steps when Go is not installed', async () => {
    const env = { PATH: folder, XDG_CACHE_HOME: folder };
    const resolving = resolveImageTools(['buildkitd'], { env, log: () => {}, goFolders: [] });
    await expect(resolving).rejects.toThrow(BinariesMissingError);
    await expect(resolving).rejects.toThrow(/buildkitd, and there is no Go.*install Go 1\.26/s);
  });
});

describe('debianTree', () => {
  const wanted = { name: 'tool', packages: ['tool'] };
  const download = ': > "tool_1%3a2.3-4_amd64.deb"\n';
  const unpack = 'mkdir -p "$3/usr"; echo "$2" > "$3/usr/from"\n';

  test('unpacks each version of a package once', async () => {
    program('apt-get', download);
    program('dpkg-deb', unpack);
    const [first, second] = await Promise.all([debianTree(wanted, options()), debianTree(wanted, options())]);
    expect(second).toBe(first);
    expect(basename(first)).toBe('1-2.3-4');
    expect(existsSync(join(first, 'usr', 'from'))).toBe(true);
    expect(readFileSync(join(dirname(first), 'packages.txt'), 'utf8')).toBe('tool_1%3a2.3-4_amd64.deb\n');
    expect(calls('apt-get')).toHaveLength(1);
  });

  test('uses package lists of its own when those of the machine do not have the package', async () => {
    program('apt-get', `case "$*" in *update*) exit 0;; *Lists=*) ;; *) exit 100;; esac\n${download}`);
    program('dpkg-deb', unpack);
    await debianTree(wanted, options());
    const own = `Dir::State::Lists=${join(folder, 'cache', 'berth', 'debian', 'apt', 'lists')}`;
    expect(calls('apt-get').map((line) => line.includes(own))).toEqual([false, true, true]);
  });

  test('adds dependencies that match the pattern, but no virtual packages or packages of another architecture', async () => {
    program('apt-cache', 'printf "tool\\n  Depends: libc6\\nlibc6\\n<awk>\\nperl\\nlibz:i386\\nlibz\\n"\n');
    program('apt-get', download);
    program('dpkg-deb', unpack);
    await debianTree({ name: 'tool', packages: ['tool'], dependencies: /^lib/ }, options());
    expect(calls('apt-get')[0]).toMatch(/download -qq tool libc6 libz$/);
  });

  test('shows the output of apt when a download fails, and keeps nothing', async () => {
    program('apt-get', 'echo "E: Unable to locate package tool" >&2; exit 100\n');
    await expect(debianTree(wanted, options())).rejects.toThrow(
      /Debian's tool.*Unable to locate package tool/,
    );
    program('apt-get', download);
    program('dpkg-deb', unpack);
    await expect(debianTree(wanted, options())).resolves.toMatch(/1-2\.3-4$/);
  });

  test('fails with the next step when apt-get is missing', async () => {
    const env = { PATH: join(folder, 'bin'), XDG_CACHE_HOME: folder };
    await expect(debianTree(wanted, { env, log: () => {} })).rejects.toThrow(/no apt-get.*Debian or Ubuntu/);
  });
});

test('an image with the same content has the same digest, whenever its files were created', async () => {
  const digests = [];
  for (const [at, time] of [1_000_000, 2_000_000].entries()) {
    const [root, layout] = [join(folder, `root-${at}`), join(folder, `layout-${at}`)];
    mkdirSync(root);
    for (const name of at === 0 ? ['a', 'b'] : ['b', 'a']) {
      writeFileSync(join(root, name), name);
      utimesSync(join(root, name), time, time);
    }
    await writeOciLayout(layout, root, { Cmd: ['/a'] });
    const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as {
      manifests: { digest: string }[];
    };
    digests.push(index.manifests[0]?.digest);
  }
  expect(digests[0]).toMatch(/^sha256:/);
  expect(digests[1]).toBe(digests[0]);
});

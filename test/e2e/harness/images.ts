/** Images of the apps of these tests, built by BuildKit. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LocalBuildkit } from '../../cluster/images/buildkit.ts';
import { VERSION } from '../../installation/version.ts';

const app = fileURLToPath(new URL('../app', import.meta.url));

/** The stock image of the examples in README.md. The node finds it under every host. */
export const NGINX = 'library/nginx:1.29';

/** A Dockerfile of a static site, as its authors would write it. */
const SITE = (host: string) => `FROM ${host}/${NGINX}\nCOPY index.html /usr/share/nginx/html/\n`;

/** Two versions of one app, a static site, a page that is served within a moment, and a program that ends at once. */
export async function pushApps(buildkit: LocalBuildkit, host: string): Promise<void> {
  for (const version of ['1', '2']) {
    const args = { BASE: `${host}/berth:${VERSION}`, VERSION: version };
    await build(buildkit, app, `${host}/shop:${version}`, args);
  }
  await fromFiles(buildkit, `${host}/site:1`, {
    Dockerfile: SITE(host),
    'index.html': '<h1>Spring menu</h1>\n',
  });
  await fromStatic(buildkit, host, 'crashes:1', 'echo "cannot open the shop" >&2; exit 3');
}

/** An image that runs a script of the shell. */
async function fromStatic(
  buildkit: LocalBuildkit,
  host: string,
  name: string,
  script: string,
): Promise<void> {
  const command = JSON.stringify(['sh', '-c', script]);
  const Dockerfile = `FROM ${host}/base/static\nUSER 1000:1000\nENTRYPOINT ${command}\n`;
  await fromFiles(buildkit, `${host}/${name}`, { Dockerfile });
}

/** An image from a Dockerfile and the files beside it. */
async function fromFiles(
  buildkit: LocalBuildkit,
  name: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-e2e-'));
  try {
    for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content);
    await build(buildkit, folder, name, {});
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function build(
  buildkit: LocalBuildkit,
  folder: string,
  name: string,
  args: Record<string, string>,
): Promise<void> {
  await buildkit.buildctl([
    ...[
      'build',
      '--frontend',
      'dockerfile.v0',
      '--local',
      `context=${folder}`,
      '--local',
      `dockerfile=${folder}`,
    ],
    ...Object.entries(args).flatMap(([key, value]) => ['--opt', `build-arg:${key}=${value}`]),
    ...['--output', `type=image,name=${name},push=true`],
  ]);
}

/** Images of the apps of these tests, built by BuildKit. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LocalBuildkit } from '../../cluster/images/buildkit.ts';
import { VERSION } from '../../installation/version.ts';

const app = fileURLToPath(new URL('../app', import.meta.url));

/** Two versions of one app, a page that is served within a moment, and a program that ends at once. */
export async function pushApps(buildkit: LocalBuildkit, host: string): Promise<void> {
  for (const version of ['1', '2']) {
    const args = { BASE: `${host}/berth:${VERSION}`, VERSION: version };
    await build(buildkit, app, `${host}/shop:${version}`, args);
  }
  await fromStatic(buildkit, host, 'crashes:1', 'echo "cannot open the shop" >&2; exit 3');
}

/** An image that runs a script of the shell. */
export async function fromStatic(
  buildkit: LocalBuildkit,
  host: string,
  name: string,
  script: string,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-e2e-'));
  try {
    const command = JSON.stringify(['sh', '-c', script]);
    writeFileSync(
      join(folder, 'Dockerfile'),
      `FROM ${host}/base/static\nUSER 1000:1000\nENTRYPOINT ${command}\n`,
    );
    await build(buildkit, folder, `${host}/${name}`, {});
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

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BinaryGroup } from './binaries.ts';
import { withLock } from './lock.ts';

export interface BuildRequest {
  /** Path of the go command. */
  go: string;
  group: BinaryGroup;
  names: readonly string[];
  /** Folder that receives the programs. */
  cacheDir: string;
  env: NodeJS.ProcessEnv;
  log: (line: string) => void;
}

const PROGRESS_EVERY_MS = 10_000;

/**
 * Builds programs of one module into `cacheDir`. Only one process builds at a time. Each program is moved there when it is
 * complete.
 */
export async function buildWithGo(request: BuildRequest): Promise<void> {
  const { group, names, cacheDir, log } = request;
  mkdirSync(dirname(cacheDir), { recursive: true });
  const onWait = (pid: number) =>
    log(`Waiting for process ${pid}, which is already building ${group.name} ${group.version} …`);
  await withLock(`${cacheDir}.lock`, onWait, async () => {
    // The previous holder of the lock may have built the same programs.
    if (names.every((name) => existsSync(join(cacheDir, name)))) return;
    log(`Building ${names.join(', ')} (${group.name} ${group.version}) with Go into ${cacheDir}, once …`);
    const started = Date.now();
    const temporary = mkdtempSync(`${cacheDir}.tmp-`);
    try {
      for (const batch of batches(group, names)) await goBuild(request, batch, temporary, started);
      mkdirSync(cacheDir, { recursive: true });
      for (const name of names) renameSync(join(temporary, name), join(cacheDir, name));
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
    log(`Built ${names.join(', ')} in ${elapsed(started)}.`);
  });
}

/** `-o folder/` names a program after its package. A program with another name is built separately with `-o file`. */
function batches(group: BinaryGroup, names: readonly string[]): string[][] {
  const sameName = names.filter((name) => group.packages[name]?.endsWith(`/${name}`));
  const renamed = names.filter((name) => !sameName.includes(name));
  return [sameName, ...renamed.map((name) => [name])].filter((batch) => batch.length > 0);
}

async function goBuild(
  request: BuildRequest,
  batch: string[],
  outDir: string,
  started: number,
): Promise<void> {
  const { go, group, env, log } = request;
  const packages = batch.map((name) => group.packages[name] ?? name);
  const [only] = batch;
  const output = batch.length === 1 && only ? join(outDir, only) : `${outDir}/`;
  const ldflags = ['-s', '-w', ...group.ldflags].join(' ');
  const args = [
    'build',
    '-v',
    '-mod=readonly',
    '-trimpath',
    '-buildvcs=false',
    ...(group.tags ? ['-tags', group.tags.join(',')] : []),
    '-ldflags',
    ldflags,
    '-o',
    output,
  ];
  const child = spawn(go, [...args, ...packages], {
    cwd: group.moduleDir,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '' },
  });
  const lines: string[] = [];
  let downloaded = 0;
  let compiled = 0;
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    for (const line of chunk.split('\n').filter((text) => text !== '')) {
      lines.push(line);
      if (line.startsWith('go: downloading')) downloaded++;
      else compiled++;
    }
    lines.splice(0, lines.length - 40);
  });
  const progress = setInterval(() => {
    log(`  … ${elapsed(started)}: ${downloaded} modules downloaded, ${compiled} packages compiled`);
  }, PROGRESS_EVERY_MS);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (code !== 0) {
      throw new Error(
        `failed to build ${batch.join(', ')}: go build ended with ${code} (Go 1.26 or newer and a module proxy are needed):\n${lines.join('\n')}`,
      );
    }
  } finally {
    clearInterval(progress);
    if (child.exitCode === null) child.kill();
  }
}

function elapsed(since: number): string {
  const seconds = Math.round((Date.now() - since) / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

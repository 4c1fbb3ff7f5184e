/** Builds programs with Go into the cache folder, and shows how long it takes. */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { withLock } from '../lock.ts';
import { compileFlags, runGo, stalePackages } from './packages.ts';
import { BuildProgress } from './progress.ts';

export interface GoProgram {
  readonly name: string;
  readonly goPackage: string;
  /** Folder of the cache that receives the program. */
  readonly folder: string;
}

/** Programs of one module. Go compiles packages that several of them need only once. */
export interface GoBuild {
  /** Folder of the Go module that pins the versions. */
  readonly moduleDir: string;
  readonly programs: readonly GoProgram[];
  readonly ldflags: readonly string[];
  readonly tags?: readonly string[];
}

export interface BuildRequest {
  /** Path of the go command. */
  readonly go: string;
  readonly builds: readonly GoBuild[];
  /** Folder with the folders of all programs. */
  readonly cacheRoot: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
}

const PROGRESS_EVERY_MS = 15_000;

/** Builds the programs. Only one process builds at a time. Each program is moved into its folder when it is complete. */
export async function buildWithGo(request: BuildRequest): Promise<void> {
  const { cacheRoot, log } = request;
  mkdirSync(cacheRoot, { recursive: true });
  const onWait = (pid: number) => log(`Waiting for process ${pid}, which is building programs …`);
  await withLock(join(cacheRoot, 'build.lock'), onWait, async () => {
    // The previous holder of the lock may have built the same programs.
    const builds = request.builds.map(withMissingPrograms).filter(({ programs }) => programs.length > 0);
    if (builds.length > 0) await buildAll({ ...request, builds });
  });
}

const pathOf = ({ folder, name }: GoProgram) => join(folder, name);

function withMissingPrograms(build: GoBuild): GoBuild {
  return { ...build, programs: build.programs.filter((program) => !existsSync(pathOf(program))) };
}

async function buildAll({ go, builds, cacheRoot, env, log }: BuildRequest): Promise<void> {
  const programs = builds.flatMap((build) => build.programs);
  const names = programs.map(({ name }) => name).join(', ');
  log(`Building ${names} with Go into ${cacheRoot}, once …`);
  const progress = new BuildProgress(programs.length, availableParallelism());
  const timer = setInterval(() => log(`  … ${progress.line()}`), PROGRESS_EVERY_MS);
  try {
    const onLine = (line: string) => progress.onLine(line);
    // Lists all modules at the same time, because this downloads them. A failure is reported when no list runs any more, and is
    // that of the first module, not of the fastest one.
    const lists = await Promise.allSettled(builds.map((build) => stalePackages(go, build, env, onLine)));
    const packages = lists.map((list, index) => {
      if (list.status === 'fulfilled') return list.value;
      throw failure(builds[index]?.programs ?? [], (list.reason as Error).message);
    });
    progress.start(packages);
    log(`  … ${progress.line()}`);
    for (const build of builds) await buildModule(go, build, cacheRoot, env, progress);
  } finally {
    clearInterval(timer);
  }
  log(`Built ${names} in ${progress.elapsed()}.`);
}

function failure(programs: readonly GoProgram[], why: string): Error {
  const names = programs.map(({ name }) => name).join(', ');
  return new Error(`failed to build ${names} (Go 1.26 or newer and a module proxy are needed): ${why}`);
}

async function buildModule(
  go: string,
  build: GoBuild,
  cacheRoot: string,
  env: NodeJS.ProcessEnv,
  progress: BuildProgress,
): Promise<void> {
  const temporary = mkdtempSync(join(cacheRoot, 'build.tmp-'));
  const isLinked = ({ name }: GoProgram) => existsSync(join(temporary, name));
  progress.countLinked(() => build.programs.filter(isLinked).length);
  try {
    for (const batch of batches(build.programs)) {
      const [only] = batch;
      const output = batch.length === 1 && only ? join(temporary, only.name) : `${temporary}/`;
      const ldflags = ['-s', '-w', ...build.ldflags].join(' ');
      const packages = batch.map(({ goPackage }) => goPackage);
      const args = ['build', '-v', ...compileFlags(build), '-ldflags', ldflags, '-o', output, ...packages];
      const onLine = (line: string) => progress.onLine(line);
      const { code, errors } = await runGo(go, args, { cwd: build.moduleDir, env, onLine });
      if (code !== 0) throw failure(batch, `go build ended with ${code}:\n${errors.join('\n')}`);
    }
    progress.addLinked(build.programs.length);
    for (const program of build.programs) {
      mkdirSync(program.folder, { recursive: true });
      renameSync(join(temporary, program.name), pathOf(program));
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** `-o folder/` names a program after its package. A program with another name is built separately with `-o file`. */
function batches(programs: readonly GoProgram[]): GoProgram[][] {
  const sameName = programs.filter(({ name, goPackage }) => goPackage.endsWith(`/${name}`));
  const renamed = programs.filter((program) => !sameName.includes(program));
  return [sameName, ...renamed.map((program) => [program])].filter((batch) => batch.length > 0);
}

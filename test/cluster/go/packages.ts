/** The packages that a build has to compile. */
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { GoBuild } from './build.ts';
import settings from './flags.json' with { type: 'json' };

/** Flags that decide what is compiled. With the same flags, builds of all modules share the build cache. */
export function compileFlags({ tags }: Pick<GoBuild, 'tags'>): string[] {
  return [...settings.flags, ...(tags && tags.length > 0 ? ['-tags', tags.join(',')] : [])];
}

/** The environment of the go command. Settings of the user must not change the programs. */
export function goEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, ...settings.environment };
}

/**
 * Runs go in the folder of a module.
 * @param onLine receives each line of standard error
 * @returns the exit code, standard output, and the last lines of standard error
 */
export async function runGo(
  go: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; onLine: (line: string) => void },
): Promise<{ code: number | null; output: string; errors: string[] }> {
  const child = spawn(go, args, {
    cwd: options.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: goEnvironment(options.env),
  });
  let output = '';
  let rest = '';
  const errors: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines.filter((text) => text !== '')) {
      errors.push(line);
      options.onLine(line);
    }
    errors.splice(0, errors.length - 40);
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    return { code, output, errors: rest === '' ? errors : [...errors, rest] };
  } finally {
    if (child.exitCode === null) child.kill();
  }
}

const FORMAT = '{{if .Stale}}{{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles "\t"}}{{end}}';

/** A package to compile. */
export interface GoPackage {
  readonly name: string;
  /** Folder of its source. Packages of two modules with the same folder are compiled once. */
  readonly folder: string;
  readonly bytes: number;
}

/**
 * The packages of a build that are not in the build cache. Downloads missing modules.
 * @param onLine receives messages about downloads
 */
export async function stalePackages(
  go: string,
  build: GoBuild,
  env: NodeJS.ProcessEnv,
  onLine: (line: string) => void,
): Promise<GoPackage[]> {
  const packages = build.programs.map(({ goPackage }) => goPackage);
  const args = ['list', '-deps', ...compileFlags(build), '-f', FORMAT, ...packages];
  const { code, output, errors } = await runGo(go, args, { cwd: build.moduleDir, env, onLine });
  if (code !== 0) throw new Error(`go list ended with ${code}:\n${errors.join('\n')}`);
  return output.split('\n').flatMap(packageOf);
}

function packageOf(line: string): GoPackage[] {
  const [name = '', folder = '', ...files] = line.split('\t');
  if (name === '') return [];
  const sizes = files.map((file) => statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0);
  return [{ name, folder, bytes: sizes.reduce((sum, size) => sum + size, 0) }];
}

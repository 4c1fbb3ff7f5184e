/** The modules of the package berth-cli: JavaScript that its two entries import, and type declarations of the client. */
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { javascriptOf } from '../strip-types.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The entries of the package below src/: the program, and the client for programs. */
export const PROGRAM = 'cli/package/main';
export const CLIENT = 'cli/client/index';

/** A static or dynamic import in the layout of the formatter. Types have been removed. */
const IMPORT = /\b(?:from|import)(?: |\()'([^'\n]+)'/g;

export interface Modules {
  /** JavaScript by the path below src/, such as `cli/program.js`. */
  readonly sources: ReadonlyMap<string, string>;
  /** The packages that the modules import. */
  readonly packages: readonly string[];
}

/** The modules that the entries import, directly or indirectly, also when a command runs. */
export function modules(): Modules {
  const sources = new Map<string, string>();
  const packages = new Set<string>();
  const waiting = [`${PROGRAM}.js`, `${CLIENT}.js`];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (sources.has(path)) continue;
    const source = javascriptOf(readFileSync(join(root, 'src', path.replace(/js$/, 'ts')), 'utf8'));
    sources.set(path, source);
    for (const [, imported = ''] of source.matchAll(IMPORT)) {
      if (imported.startsWith('.')) waiting.push(normalize(join(dirname(path), imported)));
      else if (!imported.startsWith('node:')) packages.add(imported);
    }
  }
  return { sources, packages: [...packages].sort() };
}

/** Matches a relative path to a TypeScript file in a declaration. */
const TYPESCRIPT_PATH = /(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g;

/**
 * The declarations of the client by their path below src/, such as `cli/client/index.d.ts`.
 * @throws Error when the compiler rejects the sources
 */
export function declarations(): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-declarations-'));
  try {
    const project = join(folder, 'tsconfig.json');
    const compilerOptions = {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: join(root, 'src'),
      outDir: join(folder, 'out'),
      typeRoots: [join(root, 'node_modules/@types')],
    };
    const files = [join(root, 'src', `${CLIENT}.ts`)];
    writeFileSync(
      project,
      JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, files, include: [] }),
    );
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const ended = spawnSync(process.execPath, [compiler, '--project', project], { encoding: 'utf8' });
    if (ended.status !== 0)
      throw new Error(`failed to emit the declarations of the client: ${ended.stdout}${ended.stderr}`);
    const paths = globSync('**/*.d.ts', { cwd: join(folder, 'out') });
    return new Map(
      paths.map((path) => {
        const text = readFileSync(join(folder, 'out', path), 'utf8');
        return [path, text.replaceAll(TYPESCRIPT_PATH, '$1$2.js$1')];
      }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

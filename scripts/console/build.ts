/** Builds the console with Vite, unless the files of the last build have the same inputs. */
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { withLock } from '../../test/cluster/lock.ts';
import { checkBudget, type Manifest } from './budget.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = join(ROOT, 'src/console');
/** Where the API finds the console, in a checkout and in the image. */
export const CONSOLE_FOLDER = join(ROOT, 'dist/console');
/** Beside the files: the hash of the inputs, and the size of the first page. */
const RECORD = 'build.json';
/** The chunk of the page that a browser shows first. */
const FIRST_PAGE = 'fleet/page.tsx';

/** Everything that decides what the files contain. */
const INPUTS = ['src/console/**/*', 'scripts/console/*', 'package-lock.json'];

function hashOfInputs(): string {
  const hash = createHash('sha256');
  for (const path of globSync(INPUTS, { cwd: ROOT }).toSorted()) {
    if (!statSync(join(ROOT, path)).isFile()) continue;
    hash.update(`${path}\n`).update(readFileSync(join(ROOT, path)));
  }
  return hash.digest('hex');
}

interface BuildRecord {
  readonly inputs: string;
  readonly size: string;
}

function lastBuild(): BuildRecord | null {
  try {
    return JSON.parse(readFileSync(join(CONSOLE_FOLDER, RECORD), 'utf8')) as BuildRecord;
  } catch {
    return null;
  }
}

/** Runs `work` with the NODE_ENV of a release. With that of a test, Vite would build the development code of React. */
async function inProduction<T>(work: () => Promise<T>): Promise<T> {
  const { NODE_ENV: former } = process.env;
  process.env['NODE_ENV'] = 'production';
  try {
    return await work();
  } finally {
    if (former === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = former;
  }
}

/** Vite is loaded only for a build, because that takes half a second. */
async function runVite(into: string): Promise<Manifest> {
  const [{ build }, { default: react }] = await Promise.all([import('vite'), import('@vitejs/plugin-react')]);
  await build({
    configFile: false,
    root: SOURCES,
    // Relative addresses: the same files work behind every prefix.
    base: './',
    cacheDir: join(ROOT, 'node_modules/.cache/vite'),
    logLevel: 'warn',
    plugins: [react()],
    build: {
      outDir: into,
      emptyOutDir: true,
      target: 'es2022',
      manifest: 'manifest.json',
      // An inlined file would be a data: URL, which the policy does not allow.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // The budget is checked with gzip.
      chunkSizeWarningLimit: 2_000,
    },
  });
  const path = join(into, 'manifest.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  rmSync(path);
  return manifest;
}

const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/** Writes compressed forms beside the files, which the API sends without compressing again. Returns the sizes with gzip. */
function compressAll(folder: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const file of globSync('assets/*.{js,css,svg}', { cwd: folder })) {
    const content = readFileSync(join(folder, file));
    const zipped = gzipSync(content, { level: 9 });
    sizes.set(file, zipped.length);
    writeFileSync(join(folder, `${file}.gz`), zipped);
    writeFileSync(join(folder, `${file}.br`), brotliCompressSync(content, quality));
  }
  return sizes;
}

/**
 * Builds the console if its inputs have changed.
 * @returns what was done, in words
 * @throws Error when the sources do not compile, or the first page exceeds its budget
 */
export async function buildConsole(): Promise<string> {
  const inputs = hashOfInputs();
  const current = () => {
    const last = lastBuild();
    return last?.inputs === inputs ? `dist/console is current (${last.size})` : null;
  };
  const before = current();
  if (before !== null) return before;
  mkdirSync(join(ROOT, 'dist'), { recursive: true });
  return await withLock(
    `${CONSOLE_FOLDER}.lock`,
    (pid) => console.error(`Waiting for process ${pid}, which already builds the console …`),
    async () => {
      const meanwhile = current();
      if (meanwhile !== null) return meanwhile;
      const temporary = `${CONSOLE_FOLDER}.new`;
      const manifest = await inProduction(() => runVite(temporary));
      const sizes = compressAll(temporary);
      const size = checkBudget(manifest, (file) => sizes.get(file) ?? 0, FIRST_PAGE);
      writeFileSync(join(temporary, RECORD), JSON.stringify({ inputs, size } satisfies BuildRecord));
      rmSync(CONSOLE_FOLDER, { recursive: true, force: true });
      renameSync(temporary, CONSOLE_FOLDER);
      return `built dist/console (${size})`;
    },
  );
}

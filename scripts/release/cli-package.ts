/** The package of the command line, `berth-cli-VERSION.tgz`, for `npm install` (docs/decisions/0097). */
import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CLIENT, declarations, modules, PROGRAM } from './cli-modules.ts';
import { tarGz } from './tar.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export const NAME = 'berth-cli';

/** A file of the package. The path is relative to its folder. */
interface PackageFile {
  readonly path: string;
  readonly content: Buffer | string;
  readonly executable?: boolean;
}

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const read = (path: string) => readFileSync(join(root, path));
const manifestOf = (installed: string, name: string): Manifest =>
  JSON.parse(readFileSync(join(installed, name, 'package.json'), 'utf8')) as Manifest;

/** The packages with their dependencies. */
function withDependencies(installed: string, names: readonly string[]): string[] {
  const found = new Set<string>();
  const add = (name: string) => {
    if (found.has(name)) return;
    found.add(name);
    Object.keys(manifestOf(installed, name).dependencies ?? {}).forEach(add);
  };
  names.forEach(add);
  return [...found].sort();
}

/** The installed files of a package, without changes. */
function filesOf(installed: string, name: string): PackageFile[] {
  const folder = join(installed, name);
  const paths = globSync('**/*', { cwd: folder }).filter((path) => statSync(join(folder, path)).isFile());
  return paths.map((path) => ({
    path: `node_modules/${name}/${path}`,
    content: readFileSync(join(folder, path)),
  }));
}

/** package.json of the package. The dependencies are those that are installed, exactly. */
function manifest(version: string, packages: readonly string[], installed: string): string {
  const { license } = JSON.parse(read('package.json').toString()) as { license: string };
  const made = {
    name: NAME,
    version,
    description: 'The command line of Berth, and a typed client of its HTTP API.',
    license,
    type: 'module',
    engines: { node: '>=22.12.0' },
    bin: { berth: `dist/${PROGRAM}.js` },
    exports: {
      '.': { types: `./dist/${CLIENT}.d.ts`, default: `./dist/${CLIENT}.js` },
      './package.json': './package.json',
    },
    files: ['dist'],
    dependencies: Object.fromEntries(packages.map((name) => [name, manifestOf(installed, name).version])),
    bundleDependencies: packages,
  };
  return `${JSON.stringify(made, null, 2)}\n`;
}

/** The packages of this checkout, which a developer may have changed. A release uses other ones. */
const OWN_PACKAGES = join(root, 'node_modules');

/**
 * The files of the package.
 * @param installed folder with the packages to include
 */
export function packageFiles(version: string, installed = OWN_PACKAGES): PackageFile[] {
  const { sources, packages } = modules();
  const compiled = [...sources, ...declarations()].map(([path, content]) => ({
    path: `dist/${path}`,
    content,
    executable: path === `${PROGRAM}.js`,
  }));
  return [
    { path: 'package.json', content: manifest(version, packages, installed) },
    { path: 'README.md', content: read('scripts/release/cli-readme.md') },
    { path: 'LICENSE', content: read('LICENSE') },
    ...compiled,
    ...withDependencies(installed, packages).flatMap((name) => filesOf(installed, name)),
  ];
}

/**
 * Writes the package. The same sources, packages, version and timestamp give the same bytes.
 * @param options.output absolute path of the folder
 * @param options.timestamp time of all files in the package
 * @param options.modules folder with the packages to include; default: those of this checkout
 * @returns the name of the file
 * @throws Error when the declarations cannot be compiled, or the packages are not installed
 */
export async function buildCliPackage(options: {
  readonly version: string;
  readonly output: string;
  readonly timestamp: Date;
  readonly modules?: string;
}): Promise<string> {
  const { version, output, timestamp, modules: installed } = options;
  const files = packageFiles(version, installed).map((file) => ({ ...file, path: `package/${file.path}` }));
  const name = `${NAME}-${version}.tgz`;
  mkdirSync(output, { recursive: true });
  writeFileSync(join(output, name), await tarGz(files, timestamp));
  return name;
}

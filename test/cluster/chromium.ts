/** Chromium, in which tests use the console: the one of CHROME_PATH or of PATH, or that of Debian's package in the cache. */
import { globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { BinariesMissingError, type ResolveOptions } from './binaries.ts';
import { locate, pathFolders } from './executables.ts';
import { debianTree, unpackedTree } from './images/debian-packages.ts';

/** How to start a browser. */
export interface Chromium {
  readonly path: string;
  /** Variables that it needs beside those of this process. */
  readonly env: Readonly<Record<string, string>>;
}

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

/** Its libraries and one font. Without what only a desktop needs, such as drivers of graphics cards and sound servers. */
const DEBIAN = {
  name: 'chromium',
  packages: ['chromium', 'chromium-common', 'fonts-dejavu-core', 'fontconfig-config'],
  dependencies:
    /^(lib(?!.*perl|qt5|kf5|llvm|gl1-mesa|gtk|icu-dev|pam|newt|polkit|gnome|flite|spa-|pipewire)|zlib1g|fontconfig)/,
};

/** The variables with which a program of this tree finds its libraries and fonts. */
function variablesOf(tree: string): Record<string, string> {
  const libraries = globSync('{lib,usr/lib}/*-linux-*{,/pulseaudio}', { cwd: tree }).map((path) =>
    join(tree, path),
  );
  return {
    LD_LIBRARY_PATH: libraries.join(delimiter),
    FONTCONFIG_SYSROOT: tree,
  };
}

const inTree = (tree: string): Chromium => ({
  path: join(tree, 'usr/lib/chromium/chromium'),
  env: variablesOf(tree),
});

/** The browser of this machine. null: no browser was found. @throws Error if CHROME_PATH names no program */
export function findChromium(env: NodeJS.ProcessEnv = process.env): Chromium | null {
  const given = env['CHROME_PATH'];
  if (given) {
    if (locate(given, ['/']) === undefined)
      throw new BinariesMissingError(`CHROME_PATH is ${given}, which is not an executable file`);
    return { path: given, env: {} };
  }
  for (const name of NAMES) {
    const path = locate(name, pathFolders(env));
    if (path !== undefined) return { path, env: {} };
  }
  const tree = unpackedTree(DEBIAN, env);
  return tree === null ? null : inTree(tree);
}

/**
 * The browser of this machine. Unpacks Debian's package if no browser was found (350 MB, once).
 * @throws BinariesMissingError if Debian's packages are not available
 */
export async function installChromium(options: ResolveOptions = {}): Promise<Chromium> {
  return findChromium(options.env) ?? inTree(await debianTree(DEBIAN, options));
}

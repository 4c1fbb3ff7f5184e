/** tmux, with which tests run programs in a terminal: the one of PATH, or that of Debian's package in the cache. */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { ResolveOptions } from './binaries.ts';
import { debianTree } from './images/debian-packages.ts';

export interface Tmux {
  /** Runs a command of tmux on the server of a socket, and returns its output. @throws Error when it fails */
  run(socket: string, ...words: string[]): string;
}

function tmuxOf(program: string, env: NodeJS.ProcessEnv): Tmux {
  return {
    run: (socket, ...words) => execFileSync(program, ['-L', socket, ...words], { encoding: 'utf8', env }),
  };
}

/**
 * Finds tmux. Unpacks Debian's package if PATH has none (1 MB, once).
 * @throws BinariesMissingError if Debian's packages are not available
 */
export async function resolveTmux(options: ResolveOptions = {}): Promise<Tmux> {
  const env = options.env ?? process.env;
  if (spawnSync('tmux', ['-V'], { env }).status === 0) return tmuxOf('tmux', env);
  const dependencies = /^lib(event-core|tinfo|utempter)/;
  const tree = await debianTree({ name: 'tmux', packages: ['tmux'], dependencies }, options);
  const libraries = globSync('{lib,usr/lib}/*-linux-*', { cwd: tree }).map((path) => join(tree, path));
  return tmuxOf(join(tree, 'usr/bin/tmux'), { ...env, LD_LIBRARY_PATH: libraries.join(delimiter) });
}

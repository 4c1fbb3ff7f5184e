/** The package berth-cli in an empty folder, installed as a user does, without a network. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildCliPackage } from '../../../scripts/release/cli-package.ts';
import { BinariesMissingError } from '../../cluster/binaries.ts';
import { resolveNode22 } from '../../cluster/node-22.ts';

/** A folder with a program `node`. */
export interface InstalledNode {
  readonly major: 22 | 24;
  /** null: Node is not available. */
  readonly folder: string | null;
}

/** Node 22 and 24. Prints why Node 22 is not available. */
export async function supportedNodes(): Promise<readonly InstalledNode[]> {
  const folder = await resolveNode22().catch((error: unknown) => {
    if (!(error instanceof BinariesMissingError)) throw error;
    console.warn(`the command line is not tested on Node 22: ${error.message}`);
    return null;
  });
  return [
    { major: 22, folder },
    { major: 24, folder: dirname(process.execPath) },
  ];
}

export interface InstalledPackage {
  /** The folder of the user, with package.json and node_modules. */
  readonly folder: string;
  /** The program `berth`. */
  readonly program: readonly string[];
  /** PATH with this Node. */
  path(node: string): string;
  /** Runs npm in the folder of the user. Returns standard output. */
  npm(...words: string[]): Promise<string>;
  remove(): void;
}

/** Builds the package and installs it. npm has an empty cache, and no registry answers at its address. */
export async function installPackage(version: string): Promise<InstalledPackage> {
  const home = mkdtempSync(join(tmpdir(), 'berth-package-'));
  const folder = join(home, 'project');
  mkdirSync(folder);
  const path = (node: string) => [node, process.env['PATH']].join(delimiter);
  const env = {
    PATH: path(dirname(process.execPath)),
    HOME: home,
    npm_config_cache: join(home, 'npm'),
    npm_config_registry: 'http://127.0.0.1:1/',
    npm_config_offline: 'true',
    npm_config_fund: 'false',
    npm_config_audit: 'false',
  };
  const npm = async (...words: string[]) =>
    (await promisify(execFile)('npm', words, { cwd: folder, env })).stdout;
  const name = await buildCliPackage({ version, output: home, timestamp: new Date(0) });
  await npm('install', join('..', name));
  return {
    folder,
    program: [join(folder, 'node_modules/.bin/berth')],
    path,
    npm,
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}

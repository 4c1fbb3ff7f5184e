/** The files of Berth in its image, as the Dockerfile puts them there: /app. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, globSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NPM, npmPackage } from '../../test/cluster/images/npm-package.ts';
import { CONSOLE_FOLDER } from '../console/build.ts';
import { stripFolder } from '../strip-types.ts';
import type { LayerFiles } from './image.ts';
import { ROOT, type Source } from './source.ts';
import { folderEntries } from './tar.ts';

/** Files that are not needed at run time: types and source maps. */
const UNUSED = ['**/*.d.ts', '**/*.d.mts', '**/*.d.cts', '**/*.map'];
/** Files in the root of the checkout that the image contains. */
const COPIED = ['package.json', 'LICENSE'];

interface Bom {
  serialNumber?: string;
  metadata: { timestamp?: string };
  components: { externalReferences?: { type: string }[] }[];
}

/**
 * A bill of materials without what differs between two runs or between two registries: its date and number, and the addresses
 * from which packages were downloaded.
 */
export function reproducibleSbom(text: string, timestamp: Date): string {
  const bom = JSON.parse(text) as Bom;
  bom.metadata.timestamp = timestamp.toISOString();
  for (const component of bom.components)
    component.externalReferences = component.externalReferences?.filter(
      ({ type }) => type !== 'distribution',
    );
  delete bom.serialNumber;
  const hash = createHash('sha256').update(JSON.stringify(bom)).digest('hex');
  // The form of a UUID of version 8, whose bits an application defines (RFC 9562).
  const uuid = `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
  return `${JSON.stringify({ ...bom, serialNumber: `urn:uuid:${uuid}` }, null, 2)}\n`;
}

/** What decides which packages npm installs and how, so that settings of the user or of the machine do not. */
const LAYOUT = [
  ...['--omit=dev', '--include=prod', '--include=optional', '--include=peer'],
  ...['--install-strategy=hoisted', '--legacy-peer-deps=false', '--bin-links=true'],
  ...['--ignore-scripts=true', '--package-lock=true', '--package-lock-only=false', '--global=false'],
];

/** The packages that Berth needs at run time. */
export interface Dependencies {
  /** Their folder `node_modules`. */
  readonly modules: string;
  /** Their bill of materials. */
  readonly sbom: string;
}

/**
 * Installs the packages that Berth needs at run time.
 * @param folder empty, or does not exist
 * @throws Error with the message of npm and the next step
 */
export async function installDependencies(folder: string, source: Source): Promise<Dependencies> {
  const npm = await npmPackage(NPM);
  mkdirSync(folder, { recursive: true });
  for (const file of ['package.json', 'package-lock.json', '.npmrc'])
    copyFileSync(join(ROOT, file), join(folder, file));
  const run = async (...args: string[]) => {
    const options = { cwd: folder, maxBuffer: 1 << 26 };
    return (await promisify(execFile)(process.execPath, [join(npm, 'bin/npm-cli.js'), ...args], options))
      .stdout;
  };
  try {
    await run('ci', ...LAYOUT, '--dry-run=false', '--prefer-offline', '--no-audit', '--no-fund');
    // The bill of materials lists what is installed, so development packages are removed first.
    await run('pkg', 'delete', 'devDependencies');
    const sbom = await run('sbom', '--sbom-format=cyclonedx', '--sbom-type=library', ...LAYOUT);
    return { modules: join(folder, 'node_modules'), sbom: reproducibleSbom(sbom, source.timestamp) };
  } catch (cause) {
    const message = (cause as { stderr?: string }).stderr?.trim() || (cause as Error).message;
    throw new Error(
      `failed to install the packages of package-lock.json: ${message}; next: check that the package registry is reachable`,
      { cause },
    );
  }
}

/**
 * The layers of the image: packages, which change rarely, and Berth itself with the built console. Removes files of the packages that are not needed at
 * run time.
 * @param work folder for the JavaScript of Berth, which does not exist yet
 */
export function appLayers(work: string, { modules, sbom }: Dependencies): LayerFiles[] {
  for (const path of globSync(UNUSED, { cwd: modules })) rmSync(join(modules, path), { force: true });
  // The packages that npm installed, with the address of the registry if there is one. Nothing reads it in an image.
  rmSync(join(modules, '.package-lock.json'), { force: true });
  stripFolder(join(ROOT, 'src'), work);
  return [
    { comment: 'packages of package-lock.json', entries: folderEntries(modules, 'app/node_modules') },
    {
      comment: 'Berth',
      entries: [
        ...COPIED.map((file) => ({ path: `app/${file}`, file: join(ROOT, file) })),
        ...folderEntries(join(ROOT, 'crds'), 'app/crds'),
        ...folderEntries(work, 'app/src'),
        ...folderEntries(CONSOLE_FOLDER, 'app/dist/console'),
        { path: 'app/sbom.cdx.json', content: sbom },
      ],
    },
  ];
}

/**
 * Builds the files of a release, without publishing them.
 *
 *   npm run release -- --output DIR [--base IMAGE-OR-FOLDER …] [--help]
 */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildRelease } from './release/artifacts.ts';
import { defaultOf } from './release/dockerfile.ts';
import {
  moveFiles,
  removeFolder,
  removeWhenInterrupted,
  temporaryFolderBeside,
  whyNotOutput,
} from './release/output-folder.ts';
import { isRepositoryName } from './release/repository-name.ts';
import { ROOT, readSource } from './release/source.ts';

const PLATFORMS = ['linux/amd64', 'linux/arm64'];
const DEFAULT_BASE = defaultOf('RELEASE_IMAGE', readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));

const HELP = `usage: npm run release -- --output DIR [OPTIONS]
Builds the files of a release into the folder DIR. Publishes nothing: docs/releasing.md describes the next steps.

  berth-image-VERSION.oci.tar       the image for ${PLATFORMS.join(' and ')}, as an OCI image layout
  berth-chart-VERSION.tgz           the chart, which names this image by digest
  berth-manifests-VERSION.tar.gz    the chart rendered for kubectl, with this image; definitions, monitoring, OpenAPI
  berth-cli-VERSION.tgz             the command line, for npm install
  openapi.json                      the OpenAPI document
  REBUILD                           the command that builds the same files again
  SHA256SUMS                        checksums of all files

  --output DIR             a folder that does not exist yet, or is empty. It gets the files at the end, or none
  --base IMAGE-OR-FOLDER   base image with Node 24 and git: a name, or a folder with an OCI image layout. Repeat it if each
                           platform has its own base (default: ${DEFAULT_BASE})
  --platform PLATFORM      build only this platform; may be repeated (default: ${PLATFORMS.join(', ')})
  --repository NAME        name of the image without tag, in the chart and the manifests (default: berth)
  --help

The same commit, base images and lock file give the same bytes. All files have the date of the commit, or that of
SOURCE_DATE_EPOCH. Needs Linux, the npm registry, the registry of the base image, and Go for the first run (it builds Helm and
crane, in some minutes). No container runtime is needed.
Exit code: 0 built; 1 failed; 2 wrong usage; 130 interrupted (143 by SIGTERM).`;

const OPTIONS = {
  output: { type: 'string' },
  base: { type: 'string', multiple: true },
  platform: { type: 'string', multiple: true },
  repository: { type: 'string', default: 'berth' },
  help: { type: 'boolean', short: 'h' },
} as const;

interface Arguments {
  output: string;
  bases: string[];
  platforms: string[];
  repository: string;
}

/** @returns the arguments, or a sentence that says what is wrong with them */
export function parseArguments(args: readonly string[]): Arguments | 'help' | { wrong: string } {
  let values: ReturnType<typeof parse>;
  try {
    values = parse(args);
  } catch (error) {
    return { wrong: (error as Error).message };
  }
  if (values.help) return 'help';
  if (values.output === undefined) return { wrong: 'name the folder for the files with --output' };
  const output = resolve(values.output);
  const why = whyNotOutput(output);
  if (why !== undefined) return { wrong: why };
  // In one order, because the bytes of the image depend on it.
  const platforms = [...new Set(values.platform ?? PLATFORMS)].sort();
  const unknown = platforms.find((platform) => !PLATFORMS.includes(platform));
  if (unknown !== undefined)
    return { wrong: `the platform ${unknown} is unknown; the platforms are ${PLATFORMS.join(' and ')}` };
  if (!isRepositoryName(values.repository))
    return {
      wrong: `${JSON.stringify(values.repository)} is not the name of an image without a tag, such as registry.example/berth`,
    };
  return { output, bases: values.base ?? [DEFAULT_BASE], platforms, repository: values.repository };
}

const parse = (args: readonly string[]) => parseArgs({ args: [...args], options: OPTIONS }).values;

const started = Date.now();
const log = (line: string) =>
  console.error(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)}s  ${line}`);

async function main(args: readonly string[]): Promise<number> {
  const parsed = parseArguments(args);
  if (parsed === 'help') {
    console.log(HELP);
    return 0;
  }
  if ('wrong' in parsed) {
    console.error(`${parsed.wrong}; see npm run release -- --help`);
    return 2;
  }
  const temporary: string[] = [];
  removeWhenInterrupted(temporary);
  try {
    const source = readSource(process.env);
    if (source.revision.endsWith('-dirty'))
      log('files were changed since the last commit: the artifacts cannot be built again from the commit');
    const output = temporaryFolderBeside(parsed.output);
    temporary.push(output);
    const work = mkdtempSync(join(tmpdir(), 'berth-release-'));
    temporary.push(work);
    const { files, digest, platforms, rebuild, tools } = await buildRelease({
      ...parsed,
      output,
      source,
      work,
      log,
    });
    moveFiles(output, parsed.output);
    log(`wrote ${files.join(', ')} to ${parsed.output}`);
    const image = `image: ${parsed.repository}@${digest}`;
    console.log([image, ...platforms, ...tools, `to build it again: ${rebuild}`].join('\n'));
    return 0;
  } catch (error) {
    console.error((error as Error).message);
    return 1;
  } finally {
    temporary.forEach(removeFolder);
  }
}

/** Node calls the removal of types experimental. The image and the command line are tested with its result. */
function ignoreExperimentalWarnings(): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (warning.name !== 'ExperimentalWarning') console.error(String(warning));
  });
}

if (import.meta.main) ignoreExperimentalWarnings();
if (import.meta.main) process.exitCode = await main(process.argv.slice(2));

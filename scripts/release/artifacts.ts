/** Builds every file of a release. Publishes nothing. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { resolveHelm } from '../../test/cluster/helm.ts';
import { resolveImageTools } from '../../test/cluster/images/tools.ts';
import { buildConsole } from '../console/build.ts';
import { appLayers, type Dependencies, installDependencies } from './app-files.ts';
import { type BaseImage, resolveBases } from './base-image.ts';
import { packageChart, stageChart } from './chart.ts';
import { buildCliPackage } from './cli-package.ts';
import { type BuiltImage, buildImage } from './image.ts';
import { manifestsArchive } from './manifests-archive.ts';
import { rebuildCommand, rebuildFile } from './rebuild.ts';
import { versionInImage, whyNotRun } from './run-image.ts';
import { ROOT, type Source } from './source.ts';
import { folderEntries, tarStream } from './tar.ts';

export interface ReleaseOptions {
  /** Absolute path of an empty folder. */
  readonly output: string;
  /** Base images: names, or folders with an OCI image layout. */
  readonly bases: readonly string[];
  /** Such as `linux/amd64`. */
  readonly platforms: readonly string[];
  /** Name of the image without tag and digest, in the chart and the manifests. */
  readonly repository: string;
  readonly source: Source;
  /** Folder for intermediate files. */
  readonly work: string;
  readonly log: (line: string) => void;
}

/** What a release contains, for the user. */
export interface Release {
  readonly files: readonly string[];
  /** Digest of the image's index. */
  readonly digest: string;
  /** For each platform, whether it was run. */
  readonly platforms: readonly string[];
  /** The command that builds the same bytes. */
  readonly rebuild: string;
  /** Where the programs are that publish the files. */
  readonly tools: readonly string[];
}

/** One line for each file, as `sha256sum --check` reads it. */
export async function checksums(folder: string): Promise<string> {
  const lines = [];
  for (const name of readdirSync(folder).sort()) {
    const hash = createHash('sha256');
    await pipeline(createReadStream(join(folder, name)), hash);
    lines.push(`${hash.digest('hex')}  ${name}\n`);
  }
  return lines.join('');
}

/** Runs the image of this machine's platform. The others are named as not run. */
async function runImages(
  layout: string,
  images: readonly BuiltImage[],
  { version }: Source,
  work: string,
): Promise<string[]> {
  const lines = [];
  for (const { platform, digest } of images) {
    const why = await whyNotRun(platform);
    if (why !== undefined) {
      lines.push(`${platform}: built, not run, because ${why}`);
      continue;
    }
    const printed = await versionInImage(layout, digest, work);
    if (printed !== version)
      throw new Error(
        `failed to run the image for ${platform}: \`berth --version\` printed ${JSON.stringify(printed)} instead of ${version}; next: run it by hand to see why`,
      );
    lines.push(`${platform}: built, and \`berth --version\` was run`);
  }
  return lines;
}

async function writeImage(
  { output, platforms, source, work, log }: ReleaseOptions,
  bases: readonly BaseImage[],
  dependencies: Dependencies,
): Promise<{ digest: string; platforms: string[] }> {
  log(`building the image for ${platforms.join(' and ')} …`);
  const layers = appLayers(join(work, 'src'), dependencies);
  const layout = join(work, 'image');
  const { digest, images } = await buildImage(layout, bases, layers, source);
  const lines = await runImages(layout, images, source, work);
  const file = join(output, `berth-image-${source.version}.oci.tar`);
  await pipeline(tarStream(folderEntries(layout, ''), source.timestamp), createWriteStream(file));
  return { digest, platforms: lines };
}

/** Builds all files, and SHA256SUMS last. @throws Error with the next step */
export async function buildRelease(options: ReleaseOptions): Promise<Release> {
  const { output, repository, source, work, log } = options;
  const { version, timestamp } = source;
  const write = (name: string, content: Buffer | string) => writeFileSync(join(output, name), content);
  const { crane } = await resolveImageTools(['crane'], { log });
  const helm = await resolveHelm({ log });
  log(`reading the base image ${options.bases.join(', ')} …`);
  const bases = await resolveBases(options.bases, options.platforms, join(work, 'bases'));
  log('installing the packages of the lock file …');
  await buildConsole();
  const dependencies = await installDependencies(join(work, 'dependencies'), source);
  log('building the package of the command line …');
  // Before the image, which leaves out the declarations of packages.
  await buildCliPackage({ version, output, timestamp, modules: dependencies.modules });
  const { digest, platforms } = await writeImage(options, bases, dependencies);
  log('packaging the chart and rendering the manifests …');
  const image = { repository, digest };
  const chart = stageChart(work, image);
  write(`berth-chart-${version}.tgz`, await packageChart(helm, chart, work, source));
  write(`berth-manifests-${version}.tar.gz`, await manifestsArchive(helm, chart, image, source));
  write('openapi.json', readFileSync(join(ROOT, 'manifests/openapi.json')));
  const build = { source, repository, bases };
  write('REBUILD', rebuildFile(build));
  write('SHA256SUMS', await checksums(output));
  const tools = [`crane: ${crane}`, `helm: ${helm}`];
  return { files: readdirSync(output).sort(), digest, platforms, rebuild: rebuildCommand(build), tools };
}

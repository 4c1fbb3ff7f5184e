/** Base images of the release: from registries, or from folders in the layout of OCI images. */
import { createReadStream, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { extract } from 'tar-stream';
import { crane } from '../../test/cluster/images/crane.ts';
import type { RunConfig } from './dockerfile.ts';
import {
  blobPath,
  type Descriptor,
  type Index,
  type Manifest,
  type Platform,
  readBlob,
} from './oci-layout.ts';

/** The configuration blob of an image (config.md). */
export interface ImageConfig extends Platform {
  readonly created?: string;
  readonly config?: RunConfig;
  readonly rootfs: { readonly type: 'layers'; readonly diff_ids: readonly string[] };
  readonly history?: readonly object[];
}

/** A base image of one platform, in a folder of this machine. */
export interface BaseImage {
  /** As the user named it. */
  readonly reference: string;
  /** Whether the reference is a folder of this machine, not the name of an image. */
  readonly isFolder: boolean;
  readonly platform: Platform;
  /** Folder that contains its blobs. */
  readonly layout: string;
  /** Of its manifest. */
  readonly digest: string;
  readonly manifest: Manifest;
  readonly config: ImageConfig;
}

/** `linux/arm64`. */
export const nameOf = ({ os, architecture }: Platform) => `${os}/${architecture}`;

/** The image manifests of an index, including those of nested indexes. Attestations have no platform. */
function manifestsIn(layout: string, index: Index): Descriptor[] {
  return index.manifests.flatMap((found) => {
    const { manifests } = readBlob<Partial<Index>>(layout, found.digest);
    return manifests === undefined ? [found] : manifestsIn(layout, { schemaVersion: 2, manifests });
  });
}

function imageIn(layout: string, reference: string, digest: string): BaseImage {
  const isFolder = layout === reference;
  const manifest = readBlob<Manifest>(layout, digest);
  const config = readBlob<ImageConfig>(layout, manifest.config.digest);
  const { os, architecture, variant } = config;
  const platform = { os, architecture, ...(variant ? { variant } : {}) };
  return { reference, isFolder, platform, layout, digest, manifest, config };
}

/** All images in a folder. */
function imagesInFolder(folder: string, reference: string): BaseImage[] {
  const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as Index;
  return manifestsIn(folder, index)
    .filter(({ platform }) => platform?.os !== 'unknown')
    .map(({ digest }) => imageIn(folder, reference, digest));
}

/** The reference of the same repository with a digest. */
export function withDigest(reference: string, digest: string): string {
  const [name = ''] = reference.split('@');
  // A colon behind the last slash separates a tag. Other colons separate ports.
  return `${name.replace(/:[^/:]*$/, '')}@${digest}`;
}

/** Pulls the images of these platforms. An index may have others, which are left where they are. */
async function pull(reference: string, platforms: readonly string[], into: string): Promise<BaseImage[]> {
  const verify = { insecure: false };
  const pinned = withDigest(reference, await crane(['digest', reference], verify));
  const top = JSON.parse(await crane(['manifest', pinned], verify)) as Partial<Index>;
  const wanted = top.manifests
    ?.filter(({ platform }) => platform && platforms.includes(nameOf(platform)))
    .map(({ digest }) => withDigest(reference, digest));
  const layout = join(into, pinned.slice(-12));
  mkdirSync(layout, { recursive: true });
  for (const image of wanted ?? [pinned]) await crane(['pull', '--format=oci', image, layout], verify);
  return wanted?.length === 0 ? [] : imagesInFolder(layout, reference);
}

/** A base that cannot be used. The message names the next step. */
function unusable(reference: string, why: string, next: string): Error {
  return new Error(`failed to use the base image ${reference}: ${why}; next: ${next}`);
}

async function imagesOf(reference: string, platforms: readonly string[], into: string): Promise<BaseImage[]> {
  if (existsSync(join(reference, 'index.json'))) return imagesInFolder(reference, reference);
  try {
    return await pull(reference, platforms, into);
  } catch (cause) {
    throw unusable(
      reference,
      `its registry did not return it (${(cause as Error).message})`,
      'check the name and your access to the registry, or name an image of another registry, or a folder with an OCI image layout, with --base',
    );
  }
}

/**
 * The base image of each platform.
 * @param references image names, or folders with an OCI image layout; together they have each platform once
 * @param platforms such as `linux/amd64`
 * @param into folder for what is pulled
 * @throws Error that names the missing platform, or the registry that did not respond, and the next step
 */
export async function resolveBases(
  references: readonly string[],
  platforms: readonly string[],
  into: string,
): Promise<BaseImage[]> {
  const found: BaseImage[] = [];
  for (const reference of references) found.push(...(await imagesOf(reference, platforms, into)));
  return platforms.map((platform) => {
    const [base, second] = found.filter((image) => nameOf(image.platform) === platform);
    const all = references.join(', ');
    if (base === undefined)
      throw unusable(
        all,
        `it has no image for ${platform}, only for ${[...new Set(found.map((image) => nameOf(image.platform)))].join(', ') || 'no platform'}`,
        `name a base that has one with another --base, or build without ${platform} by --platform ${platforms.find((other) => other !== platform) ?? '…'}`,
      );
    if (second !== undefined && second.digest !== base.digest)
      throw unusable(all, `two images are for ${platform}`, 'name one base for each platform');
    return base;
  });
}

function decompressor(mediaType: string): Transform[] {
  if (/\+?gzip$/.test(mediaType)) return [createGunzip()];
  return mediaType.endsWith('+zstd') ? [createZstdDecompress()] : [];
}

/** Paths of the files and links in a layer. */
async function pathsIn(layout: string, { digest, mediaType }: Descriptor): Promise<string[]> {
  const paths: string[] = [];
  const tar = extract();
  tar.on('entry', (header, stream, next) => {
    paths.push(header.name.replace(/^\.?\//, ''));
    stream.on('end', next);
    stream.resume();
  });
  const source = createReadStream(blobPath(layout, digest));
  await pipeline([source, ...decompressor(mediaType), tar as unknown as NodeJS.WritableStream]);
  return paths;
}

const PROGRAM_FOLDERS = ['usr/local/sbin', 'usr/local/bin', 'usr/sbin', 'usr/bin', 'sbin', 'bin'];

/** Those of these programs that an image does not contain. */
export async function missingPrograms(base: BaseImage, programs: readonly string[]): Promise<string[]> {
  const missing = new Set(programs);
  for (const layer of base.manifest.layers) {
    const paths = new Set(await pathsIn(base.layout, layer));
    for (const program of missing)
      if (PROGRAM_FOLDERS.some((folder) => paths.has(`${folder}/${program}`))) missing.delete(program);
  }
  return [...missing];
}

/**
 * Checks that a base contains what the image runs: nothing can be installed without running a container.
 * @throws Error that names the missing program and the next step
 */
export async function requirePrograms(base: BaseImage): Promise<void> {
  const missing = await missingPrograms(base, ['node', 'git']);
  if (missing.length === 0) return;
  throw unusable(
    base.reference,
    `its image for ${nameOf(base.platform)} does not contain ${missing.join(' and ')}`,
    'name a base that contains Node 24 and git with --base, such as docker.io/library/node:24-bookworm',
  );
}

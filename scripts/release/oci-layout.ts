/** Folders in the layout of OCI images (OCI image specification, image-layout.md): blobs that are named by their digest. */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  createReadStream,
  createWriteStream,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzip } from './tar.ts';

/** Media types of the OCI image specification. */
export const MEDIA = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
} as const;

/** An operating system and a processor, as images name them. */
export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string;
}

/** A reference to a blob (descriptor.md). */
export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:…`. */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  readonly platform?: Platform;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A manifest of one image. */
export interface Manifest {
  readonly schemaVersion: 2;
  readonly mediaType?: string;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A list of images. `index.json` is one, too. */
export interface Index {
  readonly schemaVersion: 2;
  readonly mediaType?: string;
  readonly manifests: readonly Descriptor[];
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A layer of an image, with the digest of its content before compression. */
export interface Layer {
  readonly descriptor: Descriptor;
  readonly diffId: string;
}

/** Path of a blob. */
export const blobPath = (layout: string, digest: string) => join(layout, 'blobs', ...digest.split(':'));

/** Creates the folder of blobs. */
export function createLayout(layout: string): void {
  mkdirSync(join(layout, 'blobs', 'sha256'), { recursive: true });
}

/** Reads a JSON blob. */
export function readBlob<T>(layout: string, digest: string): T {
  return JSON.parse(readFileSync(blobPath(layout, digest), 'utf8')) as T;
}

/** Stores a JSON blob. */
export function putJson(layout: string, mediaType: string, content: object): Descriptor {
  const text = JSON.stringify(content);
  const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
  writeFileSync(blobPath(layout, digest), text);
  return { mediaType, digest, size: Buffer.byteLength(text) };
}

/** Passes a stream through, and returns its digest at the end. */
function digesting(): { stream: Transform; digest: () => string } {
  const hash = createHash('sha256');
  const stream = new Transform({
    transform(chunk, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  return { stream, digest: () => `sha256:${hash.digest('hex')}` };
}

/** Stores a tar file as a layer that is compressed with gzip. */
export async function putLayer(layout: string, tar: Readable): Promise<Layer> {
  const [plain, packed] = [digesting(), digesting()];
  const temporary = join(layout, 'layer.tmp');
  await pipeline(tar, plain.stream, gzip(), packed.stream, createWriteStream(temporary));
  const digest = packed.digest();
  const { size } = statSync(temporary);
  renameSync(temporary, blobPath(layout, digest));
  return { descriptor: { mediaType: `${MEDIA.layer}+gzip`, digest, size }, diffId: plain.digest() };
}

/** Copies a blob from another layout, and checks its digest. @throws Error if the content has another digest */
export async function copyBlob(from: string, to: string, digest: string): Promise<void> {
  if (existsSync(blobPath(to, digest))) return;
  const hash = createHash('sha256');
  await pipeline(createReadStream(blobPath(from, digest)), hash);
  if (`sha256:${hash.digest('hex')}` !== digest)
    throw new Error(`failed to copy ${digest} from ${from}: its content has another digest`);
  try {
    linkSync(blobPath(from, digest), blobPath(to, digest));
  } catch {
    // The folders are on different file systems.
    copyFileSync(blobPath(from, digest), blobPath(to, digest));
  }
}

/** Writes `index.json` and `oci-layout`, which complete a layout. */
export function finishLayout(layout: string, manifests: readonly Descriptor[]): void {
  const index: Index = { schemaVersion: 2, mediaType: MEDIA.index, manifests };
  writeFileSync(join(layout, 'index.json'), JSON.stringify(index));
  writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
}

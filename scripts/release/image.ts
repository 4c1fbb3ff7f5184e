/** The image: Berth's layers on the base of each platform, as an OCI image layout with one index. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BaseImage, type ImageConfig, nameOf, requirePrograms } from './base-image.ts';
import { configOf, mergeConfig, type RunConfig } from './dockerfile.ts';
import {
  copyBlob,
  createLayout,
  type Descriptor,
  finishLayout,
  type Layer,
  type Manifest,
  MEDIA,
  putJson,
  putLayer,
} from './oci-layout.ts';
import { ROOT, type Source } from './source.ts';
import { type TarEntry, tarStream } from './tar.ts';

/** A layer to build. */
export interface LayerFiles {
  /** What it contains, for the history of the image. */
  readonly comment: string;
  readonly entries: readonly TarEntry[];
}

/** An image of one platform, in the layout. */
export interface BuiltImage {
  readonly platform: string;
  /** `sha256:…` of its manifest. */
  readonly digest: string;
}

/** Media types of Docker that have an equal one in the specification of OCI. */
const OCI_LAYERS: Readonly<Record<string, string>> = {
  'application/vnd.docker.image.rootfs.diff.tar.gzip': `${MEDIA.layer}+gzip`,
  'application/vnd.docker.image.rootfs.diff.tar': MEDIA.layer,
};

/** Annotations that describe a release (annotations.md). The image has the same as labels. */
function annotationsOf({ version, revision, timestamp, url }: Source): Record<string, string> {
  const of = (name: string) => `org.opencontainers.image.${name}`;
  return {
    [of('version')]: version,
    ...(revision === '' ? {} : { [of('revision')]: revision }),
    [of('created')]: isoTime(timestamp),
    [of('source')]: url,
  };
}

/**
 * Annotations that name the base. A folder of this machine is not named. The name has no digest, so that a build that names the
 * digest has the same bytes.
 */
const baseOf = ({ reference, isFolder, digest }: BaseImage) => ({
  ...(isFolder ? {} : { 'org.opencontainers.image.base.name': reference.split('@')[0] ?? '' }),
  'org.opencontainers.image.base.digest': digest,
});

/** RFC 3339, without milliseconds. */
const isoTime = (time: Date) => time.toISOString().replace('.000Z', 'Z');

/** The configuration of the image for one platform. */
export function imageConfig(
  base: BaseImage,
  own: RunConfig,
  layers: readonly { layer: Layer; comment: string }[],
  source: Source,
): ImageConfig {
  const { os, architecture, variant } = base.platform;
  const created = isoTime(source.timestamp);
  return {
    created,
    os,
    architecture,
    ...(variant ? { variant } : {}),
    config: mergeConfig(base.config.config ?? {}, mergeConfig(own, { Labels: annotationsOf(source) })),
    rootfs: {
      type: 'layers',
      diff_ids: [...base.config.rootfs.diff_ids, ...layers.map(({ layer }) => layer.diffId)],
    },
    history: [
      // One entry for each layer, also if the base has no history.
      ...(base.config.history ?? base.config.rootfs.diff_ids.map(() => ({ comment: 'base image' }))),
      ...layers.map(({ comment }) => ({ created, created_by: 'npm run release', comment })),
    ],
  };
}

/**
 * Builds the image of each platform, and their index.
 * @param layout empty folder
 * @returns the digest of the index, which names the image on every platform
 */
export async function buildImage(
  layout: string,
  bases: readonly BaseImage[],
  files: readonly LayerFiles[],
  source: Source,
): Promise<{ digest: string; images: BuiltImage[] }> {
  createLayout(layout);
  const own = configOf(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));
  const labels = { ...own.Labels, ...annotationsOf(source) };
  for (const base of bases) await requirePrograms(base);
  const layers: { layer: Layer; comment: string }[] = [];
  for (const { comment, entries } of files)
    layers.push({ layer: await putLayer(layout, tarStream(entries, source.timestamp)), comment });
  const described: Descriptor[] = [];
  for (const base of bases) {
    for (const { digest } of base.manifest.layers) await copyBlob(base.layout, layout, digest);
    const config = putJson(layout, MEDIA.config, imageConfig(base, own, layers, source));
    const manifest: Manifest = {
      schemaVersion: 2,
      mediaType: MEDIA.manifest,
      config,
      layers: [
        ...base.manifest.layers.map(({ mediaType, digest, size }) => ({
          mediaType: OCI_LAYERS[mediaType] ?? mediaType,
          digest,
          size,
        })),
        ...layers.map(({ layer }) => layer.descriptor),
      ],
      annotations: { ...labels, ...baseOf(base) },
    };
    described.push({ ...putJson(layout, MEDIA.manifest, manifest), platform: base.platform });
  }
  const index = { schemaVersion: 2, mediaType: MEDIA.index, manifests: described, annotations: labels };
  const { digest, ...rest } = putJson(layout, MEDIA.index, index);
  // Tools read the name of an image in a layout from this annotation.
  const name = { 'org.opencontainers.image.ref.name': source.version };
  finishLayout(layout, [{ ...rest, digest, annotations: name }]);
  const images = described.map((image, at) => {
    const platform = bases[at]?.platform;
    return { platform: platform ? nameOf(platform) : '', digest: image.digest };
  });
  return { digest, images };
}

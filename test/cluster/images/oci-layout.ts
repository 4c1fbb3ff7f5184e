import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { RunConfig } from '../../../scripts/release/dockerfile.ts';
import { blobPath, createLayout, finishLayout, MEDIA, putJson } from '../../../scripts/release/oci-layout.ts';

const run = promisify(execFile);

/** The part of an image configuration that defines how it runs (OCI image specification, config.md). */
export type ImageConfig = RunConfig;

/**
 * Writes an image with one layer, the contents of `rootfs`, as an OCI image layout into `folder`. Equal contents have the same
 * digest, regardless of owners and times. The layer is not compressed, because it stays on this machine. GNU tar keeps the modes
 * of the files, such as that of /tmp.
 * @param architecture as Node names it
 */
export async function writeOciLayout(
  folder: string,
  rootfs: string,
  config: ImageConfig,
  architecture: string = process.arch,
): Promise<void> {
  createLayout(folder);
  const tar = join(folder, 'layer.tar');
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  await run('tar', [...same, '--create', '--file', tar, '--directory', rootfs, '.']);
  const hash = createHash('sha256');
  await pipeline(createReadStream(tar), hash);
  const layer = { mediaType: MEDIA.layer, digest: `sha256:${hash.digest('hex')}`, size: statSync(tar).size };
  renameSync(tar, blobPath(folder, layer.digest));
  const platform = { architecture: architecture === 'x64' ? 'amd64' : architecture, os: 'linux' };
  const described = putJson(folder, MEDIA.config, {
    created: '1970-01-01T00:00:00Z',
    ...platform,
    config,
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  });
  const manifest = putJson(folder, MEDIA.manifest, {
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config: described,
    layers: [layer],
  });
  finishLayout(folder, [{ ...manifest, platform }]);
}

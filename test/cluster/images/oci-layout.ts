import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The part of an image configuration that defines how it runs (OCI image specification, config.md). */
export interface ImageConfig {
  Env?: readonly string[];
  Entrypoint?: readonly string[];
  Cmd?: readonly string[];
  WorkingDir?: string;
  /** `uid:gid`, or names that exist in the image. */
  User?: string;
  StopSignal?: string;
}

const MEDIA = 'application/vnd.oci.image';

/**
 * Writes an image with one layer, the contents of `rootfs`, as an OCI image layout into `folder`. Equal contents have the same
 * digest, regardless of owners and times. The layer is not compressed, because it stays on this machine.
 */
export async function writeOciLayout(folder: string, rootfs: string, config: ImageConfig): Promise<void> {
  const blobs = join(folder, 'blobs', 'sha256');
  mkdirSync(blobs, { recursive: true });
  const tar = join(folder, 'layer.tar');
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  await run('tar', [...same, '--create', '--file', tar, '--directory', rootfs, '.']);
  const hash = createHash('sha256');
  await pipeline(createReadStream(tar), hash);
  const layer = { digest: `sha256:${hash.digest('hex')}`, size: statSync(tar).size };
  renameSync(tar, join(blobs, layer.digest.slice('sha256:'.length)));
  const put = (content: object) => {
    const text = JSON.stringify(content);
    const digest = createHash('sha256').update(text).digest('hex');
    writeFileSync(join(blobs, digest), text);
    return { digest: `sha256:${digest}`, size: Buffer.byteLength(text) };
  };
  const platform = { architecture: process.arch === 'x64' ? 'amd64' : process.arch, os: 'linux' };
  const described = put({
    created: '1970-01-01T00:00:00Z',
    ...platform,
    config,
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  });
  const manifest = put({
    schemaVersion: 2,
    mediaType: `${MEDIA}.manifest.v1+json`,
    config: { mediaType: `${MEDIA}.config.v1+json`, ...described },
    layers: [{ mediaType: `${MEDIA}.layer.v1.tar`, ...layer }],
  });
  const entry = { mediaType: `${MEDIA}.manifest.v1+json`, ...manifest, platform };
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [entry] }));
  writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
}

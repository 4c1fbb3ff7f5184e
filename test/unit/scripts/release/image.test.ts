/** The image of a release, on small bases that contain no real programs. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ImageConfig, resolveBases, withDigest } from '../../../../scripts/release/base-image.ts';
import { buildImage, type LayerFiles } from '../../../../scripts/release/image.ts';
import { blobPath, type Index, type Manifest, readBlob } from '../../../../scripts/release/oci-layout.ts';
import type { Source } from '../../../../scripts/release/source.ts';
import { writeOciLayout } from '../../../cluster/images/oci-layout.ts';

const BOTH = ['linux/amd64', 'linux/arm64'];
const SOURCE: Source = {
  version: '1.2.3',
  revision: 'c0ffee',
  timestamp: new Date('2026-01-02T03:04:05Z'),
  url: 'https://example.com/berth',
};
const LAYERS: LayerFiles[] = [{ comment: 'Berth', entries: [{ path: 'app/src/main.js', content: '//' }] }];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-release-image-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A base with these programs. Returns its folder. */
async function base(architecture: 'x64' | 'arm64', ...programs: string[]): Promise<string> {
  const [root, layout] = [join(folder, `root-${architecture}`), join(folder, architecture)];
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  for (const program of programs) writeFileSync(join(root, 'usr/bin', program), architecture);
  await writeOciLayout(layout, root, { Env: ['PATH=/usr/bin'], Cmd: ['node'] }, architecture);
  return layout;
}

async function build(name: string): Promise<{ layout: string; digest: string }> {
  const references = [await base('x64', 'node', 'git'), await base('arm64', 'node', 'git')];
  const bases = await resolveBases(references, BOTH, folder);
  const layout = join(folder, name);
  return { layout, ...(await buildImage(layout, bases, LAYERS, SOURCE)) };
}

test('writes one index with an image for each platform, and the layers of Berth once', async () => {
  const { layout, digest } = await build('image');
  const top = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as Index;
  expect(top.manifests).toEqual([
    {
      mediaType: 'application/vnd.oci.image.index.v1+json',
      digest,
      size: expect.any(Number),
      annotations: { 'org.opencontainers.image.ref.name': '1.2.3' },
    },
  ]);
  const index = readBlob<Index>(layout, digest);
  expect(index.manifests.map(({ platform }) => platform)).toEqual([
    { os: 'linux', architecture: 'amd64' },
    { os: 'linux', architecture: 'arm64' },
  ]);
  const manifests = index.manifests.map((image) => readBlob<Manifest>(layout, image.digest));
  expect(manifests.map(({ layers }) => layers.length)).toEqual([2, 2]);
  expect(manifests[0]?.layers[0]).not.toEqual(manifests[1]?.layers[0]);
  expect(manifests[0]?.layers[1]).toEqual(manifests[1]?.layers[1]);
});

test('describes the release in labels and annotations, and the base in the manifest', async () => {
  const { layout, digest } = await build('image');
  const described = {
    'org.opencontainers.image.title': 'berth',
    'org.opencontainers.image.version': '1.2.3',
    'org.opencontainers.image.revision': 'c0ffee',
    'org.opencontainers.image.created': '2026-01-02T03:04:05Z',
    'org.opencontainers.image.source': 'https://example.com/berth',
    'dev.berth.sbom': '/app/sbom.cdx.json',
  };
  const index = readBlob<Index>(layout, digest);
  expect(index.annotations).toMatchObject(described);
  const manifest = readBlob<Manifest>(layout, index.manifests[0]?.digest ?? '');
  expect(manifest.annotations).toMatchObject({
    ...described,
    'org.opencontainers.image.base.digest': expect.stringMatching(/^sha256:/),
  });
  // A folder of this machine means nothing to others.
  expect(manifest.annotations).not.toHaveProperty(['org.opencontainers.image.base.name']);
  const config = readBlob<ImageConfig>(layout, manifest.config.digest);
  expect(config).toMatchObject({
    created: '2026-01-02T03:04:05Z',
    os: 'linux',
    architecture: 'amd64',
    config: { User: '10001:10001', Entrypoint: ['node', '/app/src/main.js'], Labels: described },
  });
  expect(config.config?.Env).toEqual(expect.arrayContaining(['PATH=/usr/bin', 'NODE_ENV=production']));
  expect(config.rootfs.diff_ids).toHaveLength(2);
  expect(config.history?.map((entry) => (entry as { comment: string }).comment)).toEqual([
    'base image',
    'Berth',
  ]);
  const content = gunzipSync(readFileSync(blobPath(layout, manifest.layers[1]?.digest ?? '')));
  const diffId = createHash('sha256').update(content).digest('hex');
  expect(config.rootfs.diff_ids[1]).toBe(`sha256:${diffId}`);
});

test('has the same digest when it is built again', async () => {
  const [first, second] = [await build('first'), await build('second')];
  expect(second.digest).toBe(first.digest);
});

test('names the platform that a base does not have, and how to build without it', async () => {
  const only = await base('x64', 'node', 'git');
  await expect(resolveBases([only], BOTH, folder)).rejects.toThrow(
    /has no image for linux\/arm64, only for linux\/amd64; next: .*another --base, or .*--platform linux\/amd64/,
  );
  await expect(resolveBases([only], ['linux/amd64'], folder)).resolves.toHaveLength(1);
});

test('refuses two different bases for one platform', async () => {
  const first = await base('x64', 'node', 'git');
  rmSync(join(folder, 'root-x64'), { recursive: true });
  const second = join(folder, 'second');
  mkdirSync(join(folder, 'other'));
  await writeOciLayout(second, join(folder, 'other'), {}, 'x64');
  await expect(resolveBases([first, second], ['linux/amd64'], folder)).rejects.toThrow(
    'two images are for linux/amd64; next: name one base for each platform',
  );
});

test('names a program that a base does not contain, and the next step', async () => {
  const bases = await resolveBases([await base('arm64', 'node')], ['linux/arm64'], folder);
  await expect(buildImage(join(folder, 'image'), bases, LAYERS, SOURCE)).rejects.toThrow(
    /image for linux\/arm64 does not contain git; next: name a base .* with --base/,
  );
});

test('replaces a tag by a digest, but not the port of a registry', () => {
  const digest = `sha256:${'0'.repeat(64)}`;
  for (const [reference, name] of [
    ['docker.io/library/node:24', 'docker.io/library/node'],
    ['127.0.0.1:5000/node', '127.0.0.1:5000/node'],
    ['127.0.0.1:5000/node:24', '127.0.0.1:5000/node'],
    [`node@sha256:${'1'.repeat(64)}`, 'node'],
  ] as const)
    expect(withDigest(reference, digest)).toBe(`${name}@${digest}`);
});

/** The manifests of a release, as users unpack and apply them: rendered for a repository, with a kustomization for each profile. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { profiles } from '../../../scripts/manifests.ts';
import { shellBlocks, textOf } from '../../docs/pages.ts';
import { parsed, podsOf, type Rendered } from '../harness/chart.ts';
import { kubectlAsAdmin } from '../harness/environment.ts';
import { unpackManifests } from '../harness/release-manifests.ts';

/** A repository with a registry, as a publisher names it with --repository. remote-listener.long.test.ts applies those of `berth`. */
const REPOSITORY = 'ghcr.io/berth-dev/berth';
const DIGEST = `sha256:${'5'.repeat(64)}`;

let folder: string;
let top: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-manifests-test-'));
  top = await unpackManifests(folder, { repository: REPOSITORY, digest: DIGEST });
});
afterAll(() => rmSync(folder, { recursive: true }));

const images = (objects: Rendered[]) =>
  new Set(podsOf(objects).flatMap(({ spec }) => spec.containers.map(({ image }) => image)));
const settingOf = (objects: Rendered[]) =>
  objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'berth')?.data?.[
    'BERTH_BUILD_BERTH_IMAGE'
  ];

/** The commands of install.md, without those that need Berth in the cluster. */
function commandOfPage(): string {
  const [, section = ''] = /^## With kubectl\n([\s\S]*?)^## /m.exec(textOf('docs/install.md')) ?? [];
  const [block] = shellBlocks(section, 'docs/install.md');
  const [, sed = ''] = /^(sed .*)$/m.exec(block?.text ?? '') ?? [];
  expect(block?.text).toContain('kubectl apply -k ha\n');
  return sed;
}

it('has a folder for each profile, and the files that do not need Helm', () => {
  expect(readdirSync(top).sort()).toEqual(
    ['argocd', 'crds', 'monitoring', 'openapi.json', ...profiles()].sort(),
  );
});

it.each(profiles())(
  'names the image by digest in %s, and the image of another registry after the edit of install.md',
  async (profile) => {
    const rendered = parsed(readFileSync(join(top, profile, 'berth.yaml'), 'utf8'));
    const own = `${REPOSITORY}@${DIGEST}`;
    expect(images(rendered)).toEqual(new Set([own]));
    const kustomized = async () => parsed(await kubectlAsAdmin(['kustomize', join(top, profile)]));
    expect(images(await kustomized())).toEqual(new Set([own]));

    const command = commandOfPage().replace(' ha/', ` ${profile}/`);
    await promisify(execFile)('sh', ['-c', command.replaceAll('REGISTRY', '10.0.0.1:5000/a')], {
      cwd: top,
    });
    const moved = `10.0.0.1:5000/a/berth@${DIGEST}`;
    const objects = await kustomized();
    expect(images(objects)).toEqual(new Set([moved]));
    const isCloud = profile === 'cloud';
    expect([settingOf(rendered), settingOf(objects)]).toEqual(
      isCloud ? [own, moved] : [undefined, undefined],
    );
    // Nothing else differs.
    expect(objects).toHaveLength(rendered.length);
    const text = (all: Rendered[], image: string) =>
      all.map((object) => JSON.stringify(sorted(object)).replaceAll(image, 'IMAGE')).sort();
    expect(text(objects, moved)).toEqual(text(rendered, own));
  },
);

/** The same object with its keys in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, child]) => [key, sorted(child)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

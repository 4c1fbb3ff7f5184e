/** The manifests of a release: rendered profiles that name the image by digest, and the files that do not need Helm. */
import { join } from 'node:path';
import { CRD_FILE } from '../../src/contract/crd/crd.ts';
import { profiles, render } from '../manifests.ts';
import type { ImageName } from './chart.ts';
import { ROOT, type Source } from './source.ts';
import { folderEntries, type TarEntry, tarGz } from './tar.ts';

/** Folders of manifests/ that are copied as they are. */
const FOLDERS = ['argocd', 'monitoring'];

/**
 * @param helm path of the program
 * @param chart folder of the chart of this release
 */
export async function manifestsArchive(
  helm: string,
  chart: string,
  { repository, digest }: ImageName,
  { version, timestamp }: Source,
): Promise<Buffer> {
  const entries: TarEntry[] = [];
  for (const profile of profiles()) {
    const content = await render(helm, profile, { chart, image: `${repository}@${digest}` });
    entries.push({ path: `${profile}.yaml`, content });
  }
  entries.push({ path: 'openapi.json', file: join(ROOT, 'manifests/openapi.json') });
  entries.push({ path: CRD_FILE, file: join(ROOT, CRD_FILE) });
  for (const folder of FOLDERS) entries.push(...folderEntries(join(ROOT, 'manifests', folder), folder));
  const top = `berth-manifests-${version}`;
  return tarGz(
    entries.map((entry) => ({ ...entry, path: `${top}/${entry.path}` })),
    timestamp,
  );
}

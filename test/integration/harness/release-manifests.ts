/** The manifests archive of a release of this checkout, unpacked. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ImageName, stageChart } from '../../../scripts/release/chart.ts';
import { manifestsArchive } from '../../../scripts/release/manifests-archive.ts';
import { resolveHelm } from '../../cluster/helm.ts';
import { VERSION } from '../../installation/version.ts';

/**
 * Builds the archive for an image, and unpacks it into a folder.
 * @returns the folder that the archive contains
 */
export async function unpackManifests(into: string, image: ImageName): Promise<string> {
  const work = join(into, 'work');
  mkdirSync(work);
  const source = { version: VERSION, revision: '', timestamp: new Date(0), url: '' };
  const archive = await manifestsArchive(await resolveHelm(), stageChart(work, image), image, source);
  execFileSync('tar', ['--extract', '--gzip', '--directory', into], { input: archive });
  return join(into, `berth-manifests-${VERSION}`);
}

/** The chart as a package that names its image by digest. */
import { execFile } from 'node:child_process';
import { cpSync, createReadStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { CHART } from '../manifests.ts';
import type { Source } from './source.ts';
import { type TarEntry, tarGz } from './tar.ts';

/** The image that the chart and the manifests name. */
export interface ImageName {
  readonly repository: string;
  /** `sha256:…` */
  readonly digest: string;
}

/** @throws Error unless the text contains `from` once */
function replaceOnce(path: string, from: string, to: string): void {
  const text = readFileSync(path, 'utf8');
  if (text.split(from).length !== 2)
    throw new Error(`failed to change ${path}: it must contain ${JSON.stringify(from)} once`);
  writeFileSync(path, text.replace(from, to));
}

/**
 * Copies the chart of the checkout, and sets its image: the repository as a value, and the digest as an annotation, which
 * applies unless the user sets a tag or a digest (templates/_helpers.tpl, "berth.image").
 * @returns the folder of the copy
 */
export function stageChart(work: string, image: ImageName): string {
  const folder = join(work, 'berth');
  cpSync(CHART, folder, { recursive: true });
  const annotations = '\nannotations:\n';
  replaceOnce(
    join(folder, 'Chart.yaml'),
    annotations,
    `${annotations}  berth.dev/image-digest: ${image.digest}\n`,
  );
  replaceOnce(
    join(folder, 'values.yaml'),
    '\n  repository: berth\n',
    // Quoted, because YAML reads names such as 1e3 as numbers.
    `\n  repository: ${JSON.stringify(image.repository)}\n`,
  );
  return folder;
}

/** The files of a package of Helm. */
async function filesIn(archive: string): Promise<TarEntry[]> {
  const files: TarEntry[] = [];
  const tar = extract();
  tar.on('entry', async (header, stream, next) => {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    files.push({ path: header.name, content: Buffer.concat(chunks) });
    next();
  });
  await pipeline(createReadStream(archive), createGunzip(), tar as unknown as NodeJS.WritableStream);
  return files;
}

/**
 * Packages a chart with Helm, which checks it. Helm stores the dates of the files, so the package is written again without them.
 * @param helm path of the program
 * @param chart folder of the chart
 */
export async function packageChart(
  helm: string,
  chart: string,
  work: string,
  source: Source,
): Promise<Buffer> {
  await promisify(execFile)(helm, ['package', chart, '--destination', work]);
  return tarGz(await filesIn(join(work, `berth-${source.version}.tgz`)), source.timestamp);
}

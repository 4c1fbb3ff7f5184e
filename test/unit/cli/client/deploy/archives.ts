/** Reads archives as another program does. */
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { extract, type Header } from 'tar-stream';

export interface UnpackedEntry {
  readonly header: Header;
  readonly content: string;
}

/** The entries of an archive. */
export async function entriesOf(archive: Uint8Array): Promise<UnpackedEntry[]> {
  const tar = extract();
  Readable.from([archive])
    .pipe(createGunzip())
    .pipe(tar as unknown as NodeJS.WritableStream);
  const found: UnpackedEntry[] = [];
  for await (const entry of tar) {
    const content = await buffer(entry as unknown as Readable);
    found.push({ header: (entry as unknown as { header: Header }).header, content: content.toString() });
  }
  return found;
}

export const namesIn = async (archive: Uint8Array): Promise<string[]> =>
  (await entriesOf(archive)).map(({ header }) => header.name);

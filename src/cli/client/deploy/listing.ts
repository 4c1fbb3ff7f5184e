import { printed } from '../../command/output.ts';
import type { Context } from '../context.ts';
import { cell, table } from '../table.ts';
import { pack } from './archive.ts';
import { readFolder } from './folder.ts';
import { LIMITS, type Limits, MAX_LIMITS, sizeText, totalBytes } from './limits.ts';
import { oftenHasSecrets } from './secret-files.ts';
import type { LeftOutReason, SourceEntry, SourceFolder } from './source.ts';

/** What is sent of a folder, for people. */

const SHOWN = 8;

/** The first paths, and how many more there are. */
function shortList(paths: readonly string[]): string {
  const more = paths.length - SHOWN;
  return `${paths.slice(0, SHOWN).map(cell).join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}

const leftOutBy = ({ leftOut }: SourceFolder, reason: LeftOutReason) =>
  leftOut.filter((each) => each.reason === reason).map(({ path }) => path);

/** Warnings about what is sent or left out. */
export function folderWarnings(folder: SourceFolder): string[] {
  const without = leftOutBy(folder, 'environment');
  const special = leftOutBy(folder, 'not a file');
  const secret = folder.entries.map(({ path }) => path).filter(oftenHasSecrets);
  return [
    ...(without.length === 0
      ? []
      : [
          `left out, because such files often contain secrets: ${shortList(without)}. Set secrets with berth secrets set NAME --from-file FILE, or add --include-env`,
        ]),
    ...(folder.environment.length === 0
      ? []
      : [
          `sent because of --include-env: ${shortList(folder.environment)}. They are stored with the source and can be part of the image, so they must not contain secrets`,
        ]),
    ...(secret.length === 0
      ? []
      : [
          `sent, although such files often contain secrets: ${shortList(secret)}. Exclude those with secrets in .berthignore`,
        ]),
    ...(special.length === 0 ? [] : [`left out, because they are no files: ${shortList(special)}`]),
  ];
}

/** How a folder is read. */
export interface ReadOptions {
  readonly includeEnv: boolean;
  /** False: a platform with other limits. */
  readonly limits: boolean;
}

export const limitsOf = ({ limits }: ReadOptions): Limits => (limits ? LIMITS : MAX_LIMITS);

export const summary = ({ entries }: SourceFolder, packedBytes: number): string =>
  `${entries.length} ${entries.length === 1 ? 'file' : 'files'}, ${sizeText(totalBytes(entries))}, packed ${sizeText(packedBytes)}`;

const row = ({ path, size, target }: SourceEntry) => [
  sizeText(size).padStart(10),
  target === null ? cell(path) : `${cell(path)} -> ${cell(target)}`,
];

interface Preview extends Pick<Context, 'format' | 'print' | 'note' | 'stopped'>, ReadOptions {}

/**
 * `berth deploy --dry-run`: packs the folder, and prints what would be sent. Calls no API.
 * @param check checks the folder before it is packed
 * @throws UsageError when the folder cannot be sent
 */
export async function preview(
  { format, print, note, stopped, ...options }: Preview,
  path: string,
  check: (folder: SourceFolder) => void,
): Promise<undefined> {
  const limits = limitsOf(options);
  const folder = await readFolder(path, { includeEnv: options.includeEnv, limits, stopped });
  check(folder);
  const archive = await pack(folder, stopped, limits);
  await archive.close();
  const value = {
    folder: folder.root,
    entries: folder.entries.map(({ path, size, isExecutable, target }) =>
      target === null ? { path, size, executable: isExecutable } : { path, target },
    ),
    left_out: folder.leftOut,
    bytes: totalBytes(folder.entries),
    packed_bytes: archive.size,
    digest: `sha256:${archive.digest}`,
  };
  const view = {
    table: () => table(['      SIZE', 'PATH'], folder.entries.map(row)),
    names: () => folder.entries.map((entry) => entry.path),
  };
  await printed(format, value, view, print);
  const ignored = leftOutBy(folder, 'ignored');
  if (ignored.length > 0) note(`left out by .gitignore or .berthignore: ${shortList(ignored)}`);
  for (const warning of folderWarnings(folder)) note(`warning: ${warning}`);
  note(`${summary(folder, archive.size)}, ${value.digest}. Nothing was sent`);
}

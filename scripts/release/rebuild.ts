/** How to build a release again, so that others can compare it before it is published. */
import { type BaseImage, nameOf } from './base-image.ts';
import { ownPlatform } from './run-image.ts';
import type { Source } from './source.ts';

/** Everything that the bytes depend on, beside the commit. */
export interface Build {
  readonly source: Source;
  readonly repository: string;
  readonly bases: readonly BaseImage[];
}

/** A word for a shell. */
const quoted = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** The name with the digest, also if the tag moves. The path of a folder differs between machines. */
const pinned = ({ reference, isFolder, digest }: BaseImage) =>
  isFolder ? 'FOLDER' : `${reference.split('@')[0]}@${digest}`;

/** The command, and its options, which the file has on lines of their own. */
function commandOf({ source, repository, bases }: Build): string[] {
  const names = [...new Set(bases.map(pinned))];
  return [
    `SOURCE_DATE_EPOCH=${source.timestamp.getTime() / 1000} npm run release -- --output ../again`,
    `--repository ${repository}`,
    ...bases.map(({ platform }) => `--platform ${nameOf(platform)}`),
    ...names.map((name) => `--base ${quoted(name)}`),
  ];
}

/** The complete command, in one line. */
export const rebuildCommand = (build: Build): string => commandOf(build).join(' ');

function checkout({ url, revision }: Source): string[] {
  if (revision === '')
    return ['# The commit is not known: the release was built outside of a git repository.'];
  const [commit = ''] = revision.split('-');
  const changed = '# Files were changed after this commit, so the same bytes cannot be built again.';
  return [
    ...(commit === revision ? [] : [changed]),
    `git clone ${quoted(url)} berth`,
    'cd berth',
    `git checkout ${commit}`,
  ];
}

/** Text of the file REBUILD. It has the same bytes when the release is built again. */
export function rebuildFile(build: Build): string {
  const folders = build.bases.filter(({ isFolder }) => isFolder);
  return [
    `# Builds version ${build.source.version} of Berth again. Then compare SHA256SUMS of both folders.`,
    `# It was built on ${ownPlatform()}. The commit defines the versions of Node, npm, Helm and crane.`,
    ...folders.map(
      ({ platform, digest }) =>
        `# FOLDER: an OCI image layout with the base for ${nameOf(platform)}, whose digest is ${digest}.`,
    ),
    'set -e',
    ...checkout(build.source),
    commandOf(build).join(' \\\n  '),
    '',
  ].join('\n');
}

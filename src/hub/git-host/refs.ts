import { commitShaSchema } from '../../domain/builds/build.ts';
import type { BranchHead } from '../../domain/builds/git-host.ts';
import { DELIMITER, FLUSH, type Packet, packet, packetsOf, textOf } from './pkt-line.ts';

/**
 * What git's smart HTTP protocol says of refs: version 2 answers `ls-refs` (gitprotocol-v2), the versions before it list
 * every ref in their first answer (gitprotocol-http).
 */

const HEAD = 'HEAD';
const BRANCHES = 'refs/heads/';

/** Refs of a repository: commits by name, and what HEAD stands for, where that is told. */
export interface Refs {
  readonly commits: ReadonlyMap<string, string>;
  readonly head: string | null;
}

/** The first answer of a server. */
export type Advertisement =
  /** It speaks version 2; `objectFormat` is to be named in what is asked, if there is one. */
  | { readonly version: 2; readonly objectFormat: string | null }
  | { readonly version: 1; readonly refs: Refs };

function commitOf(text: string): string | null {
  const parsed = commitShaSchema.safeParse(text);
  return parsed.success ? parsed.data : null;
}

/** `<commit> <name>`, then what `rest` finds after it. */
function addRef(commits: Map<string, string>, line: string): void {
  const [id = '', name = ''] = line.split(' ');
  const commit = commitOf(id);
  if (commit !== null && name !== '') commits.set(name, commit);
}

const SYMREF_OF_HEAD = /(?:^| )symref=HEAD:(\S+)/;

/** Capabilities stand behind a NUL in the line of the first ref. */
function listedRefs(lines: readonly string[]): Refs {
  const commits = new Map<string, string>();
  let head: string | null = null;
  for (const line of lines) {
    const [ref = '', capabilities] = line.split('\u0000');
    addRef(commits, ref);
    head ??= SYMREF_OF_HEAD.exec(capabilities ?? '')?.[1] ?? null;
  }
  return { commits, head };
}

const linesOf = (packets: readonly Packet[]) => packets.map(textOf).filter((line) => line !== null);

/** The first answer; null: it is not that of a git server. */
export function readAdvertisement(answer: Buffer): Advertisement | null {
  const packets = packetsOf(answer);
  const [first, ...lines] = packets === null ? [] : linesOf(packets);
  if (first === 'version 2') return { version: 2, objectFormat: objectFormatOf(lines) };
  if (first !== '# service=git-upload-pack') return null;
  if (lines[0] === 'version 2') return { version: 2, objectFormat: objectFormatOf(lines) };
  return { version: 1, refs: listedRefs(lines) };
}

function objectFormatOf(capabilities: readonly string[]): string | null {
  const prefix = 'object-format=';
  const found = capabilities.find((line) => line.startsWith(prefix))?.slice(prefix.length) ?? null;
  return found !== null && /^[a-z0-9]{1,20}$/.test(found) ? found : null;
}

/** The request for the refs that are needed to answer for some branches; null among them: the default one. */
export function lsRefsRequest(branches: readonly (string | null)[], objectFormat: string | null): Buffer {
  const prefixes = [...new Set(branches.map((branch) => (branch === null ? HEAD : `${BRANCHES}${branch}`)))];
  return Buffer.concat([
    packet('command=ls-refs'),
    ...(objectFormat === null ? [] : [packet(`object-format=${objectFormat}`)]),
    DELIMITER,
    packet('symrefs'),
    ...prefixes.map((prefix) => packet(`ref-prefix ${prefix}`)),
    FLUSH,
  ]);
}

const SYMREF_TARGET = /^[0-9a-f]+ HEAD .*?symref-target:(\S+)/;

/** The answer to `ls-refs`; null: it is none. */
export function readRefs(answer: Buffer): Refs | null {
  const packets = packetsOf(answer);
  if (packets === null || packets.at(-1) !== 'flush') return null;
  const commits = new Map<string, string>();
  let head: string | null = null;
  for (const line of linesOf(packets)) {
    if (line.startsWith('ERR ')) return null;
    addRef(commits, line);
    head ??= SYMREF_TARGET.exec(line)?.[1] ?? null;
  }
  return { commits, head };
}

/** The newest commit of a branch; null: there is no such branch. */
export function headOf({ commits, head }: Refs, branch: string | null): BranchHead | null {
  const ref = branch === null ? head : `${BRANCHES}${branch}`;
  const commit = ref === null ? undefined : commits.get(branch === null ? HEAD : ref);
  if (ref === null || commit === undefined || !ref.startsWith(BRANCHES)) return null;
  return { branch: ref.slice(BRANCHES.length), commit };
}

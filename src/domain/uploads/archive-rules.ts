import {
  type ArchiveLimits,
  MAX_ALL_PATHS_BYTES,
  MAX_PART_BYTES,
  MAX_PARTS,
  MEBIBYTE,
} from './archive-limits.ts';

/**
 * The rules for entries of an uploaded archive. Pure: the hub checks an upload with them, and the build checks it again
 * before it writes an entry.
 */

/** The header of an entry, as the reader of archives returns it. Any value may be invalid. */
export interface ArchiveEntry {
  readonly name: string;
  /** null or another text: a type that is not known. */
  readonly type: string | null;
  /** Size of the content in bytes. */
  readonly size: number;
  /** Target of a link. */
  readonly linkname?: string | null | undefined;
  /** Extended attributes of the entry. */
  readonly pax?: Readonly<Record<string, unknown>> | null | undefined;
}

export const ARCHIVE_RULES = [
  'not_an_archive',
  'empty_archive',
  'entry_name',
  'entry_path',
  'entry_path_length',
  'entry_type',
  'entry_duplicate',
  'entry_below_link',
  'link_target',
  'too_many_entries',
  'unpacked_too_large',
] as const;
export type ArchiveRule = (typeof ARCHIVE_RULES)[number];

/** A broken rule. Thrown by readers, so that reading stops at the first one. */
export class ArchiveViolation extends Error {
  override readonly name = 'ArchiveViolation';
  readonly rule: ArchiveRule;
  /** Name of the entry, without control characters. null: the archive as a whole. */
  readonly entry: string | null;

  constructor(rule: ArchiveRule, message: string, entry: string | null = null) {
    super(message);
    this.rule = rule;
    this.entry = entry === null ? null : shownName(entry);
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
const MAX_SHOWN = 500;

/** A name for messages: control characters are escaped, and a long name is cut. */
function shownName(name: string): string {
  const escaped = name
    .toWellFormed()
    .slice(0, MAX_SHOWN)
    .replace(new RegExp(CONTROL, 'gu'), (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return name.length > MAX_SHOWN || escaped.length > MAX_SHOWN
    ? `${escaped.slice(0, MAX_SHOWN - 1).toWellFormed()}…`
    : escaped;
}

/** What an accepted entry becomes. */
export type AcceptedEntry =
  /** The folder itself. There is nothing to write. */
  | { readonly kind: 'root' }
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'symlink'; readonly path: string; readonly target: string }
  /** Another name of an earlier file. */
  | { readonly kind: 'hardlink'; readonly path: string; readonly file: string };

/** What a path is: the size of a file, or one of these. */
const FOLDER = -1;
const LINK = -2;

const partsOf = (path: string) => path.split('/').filter((part) => part !== '' && part !== '.');

/** Why a path in an archive is not below its folder. null: it is. */
function placeProblem(path: string): string | null {
  if (path.startsWith('/')) return 'is an absolute path';
  return path.split('/').includes('..') ? "contains '..'" : null;
}

/**
 * Why a symbolic link may lead out of the folder. null: it does not. `..` is allowed only at the start of a target. There it
 * is exact, because no part of the path of an entry is a link. Later, it could follow another link.
 */
function targetProblem(target: string, depth: number): string | null {
  if (target === '') return 'has no target';
  if (CONTROL.test(target) || target.includes('\ufffd')) return 'has a target with a control character';
  if (target.startsWith('/')) return 'has an absolute target';
  const parts = partsOf(target);
  const first = parts.findIndex((part) => part !== '..');
  const up = first === -1 ? parts.length : first;
  if (up > depth) return 'has a target outside the folder';
  return parts.slice(up).includes('..') ? "has a target with '..' after its start" : null;
}

/** Checks the entries of one archive in their order. */
export class ArchiveRules {
  readonly #limits: ArchiveLimits;
  readonly #known = new Map<string, number>();
  #entries = 0;
  #files = 0;
  #pathBytes = 0;
  /** Size of the files that hard links name again. */
  #linkedBytes = 0;
  /** Name of the entry that is being read. */
  #current: string | null = null;

  constructor(limits: ArchiveLimits) {
    this.#limits = limits;
  }

  /**
   * Checks how much of the archive has been read.
   * @param bytes number of bytes without compression
   * @throws ArchiveViolation
   */
  read(bytes: number): void {
    const { unpackedBytes } = this.#limits;
    if (bytes + this.#linkedBytes <= unpackedBytes) return;
    throw new ArchiveViolation(
      'unpacked_too_large',
      `the archive is larger than the limit of ${unpackedBytes / MEBIBYTE} MiB unpacked`,
      this.#current,
    );
  }

  /**
   * Checks the next entry.
   * @param bytes number of bytes without compression before its content
   * @throws ArchiveViolation
   */
  accept(entry: ArchiveEntry, bytes: number): AcceptedEntry {
    this.#current = entry.name;
    this.#entries += 1;
    if (this.#entries > this.#limits.entries)
      throw this.#broken('too_many_entries', `the archive has more than ${this.#limits.entries} entries`);
    this.#checkName(entry.name);
    const parts = partsOf(entry.name);
    const path = parts.join('/');
    this.#checkSize(entry);
    this.read(bytes + entry.size);
    if (path === '') {
      if (entry.type === 'directory') return { kind: 'root' };
      throw this.#broken('entry_name', 'the name of the entry is empty');
    }
    this.#remember(path);
    this.#checkParents(path);
    return this.#place(entry, path, parts.length - 1);
  }

  /** Called when the archive has ended. @throws ArchiveViolation */
  end(): void {
    if (this.#files === 0) throw new ArchiveViolation('empty_archive', 'the archive contains no file');
  }

  #broken(rule: ArchiveRule, message: string): ArchiveViolation {
    return new ArchiveViolation(rule, message, this.#current);
  }

  #checkName(name: string): void {
    // A reader replaces bytes that are not UTF-8 by U+FFFD.
    if (name === '' || CONTROL.test(name) || name.includes('\ufffd'))
      throw this.#broken(
        'entry_name',
        'the name of the entry is empty, is not UTF-8, or has a control character',
      );
    this.#checkLength(name, 'entry_path_length', 'the path of the entry');
    const problem = placeProblem(name);
    if (problem !== null) throw this.#broken('entry_path', `the path of the entry ${problem}`);
  }

  #checkLength(path: string, rule: ArchiveRule, what: string): void {
    const { pathBytes } = this.#limits;
    const bytes = Buffer.byteLength(path);
    if (bytes > pathBytes) throw this.#broken(rule, `${what} has more than ${pathBytes} bytes`);
    const parts = path.split('/', MAX_PARTS + 1);
    if (parts.length > MAX_PARTS) throw this.#broken(rule, `${what} has more than ${MAX_PARTS} parts`);
    if (bytes > MAX_PART_BYTES && parts.some((part) => Buffer.byteLength(part) > MAX_PART_BYTES))
      throw this.#broken(rule, `a part of ${what} has more than ${MAX_PART_BYTES} bytes`);
  }

  /** Only files have content. A reader would take that of another entry as the next header. */
  #checkSize({ type, size, pax }: ArchiveEntry): void {
    if (!Number.isSafeInteger(size) || size < 0)
      throw this.#broken('not_an_archive', 'the size of the entry is not valid');
    const isSparse = Object.keys(pax ?? {}).some((key) => key.startsWith('GNU.sparse.'));
    if (isSparse || !['file', 'directory', 'symlink', 'link'].includes(type ?? ''))
      throw this.#broken(
        'entry_type',
        'the entry is neither a file nor a folder nor a link: devices, fifos, sockets and sparse files are not allowed',
      );
    if (type !== 'file' && size > 0)
      throw this.#broken('not_an_archive', 'a folder or link of the archive has content');
  }

  #remember(path: string): void {
    this.#pathBytes += Buffer.byteLength(path);
    if (this.#pathBytes > MAX_ALL_PATHS_BYTES)
      throw this.#broken(
        'too_many_entries',
        `the paths of all entries have more than ${MAX_ALL_PATHS_BYTES / MEBIBYTE} MiB together`,
      );
  }

  /**
   * Folders that have no entry exist too. The parents of a known folder are known, so that the walk ends there: its cost does
   * not depend on the number of entries.
   */
  #checkParents(path: string): void {
    for (let end = path.lastIndexOf('/'); end !== -1; end = path.lastIndexOf('/', end - 1)) {
      const parent = path.slice(0, end);
      const known = this.#known.get(parent);
      if (known === FOLDER) return;
      if (known !== undefined)
        throw this.#broken('entry_below_link', 'a part of the path of the entry is a file or a link');
      this.#remember(parent);
      this.#known.set(parent, FOLDER);
    }
  }

  #place({ type, size, linkname }: ArchiveEntry, path: string, depth: number): AcceptedEntry {
    const known = this.#known.get(path);
    if (known !== undefined && !(known === FOLDER && type === 'directory'))
      throw this.#broken('entry_duplicate', 'the archive has another entry with the same path');
    switch (type) {
      case 'directory':
        this.#known.set(path, FOLDER);
        return { kind: 'folder', path };
      case 'symlink':
        return this.#symlink(path, linkname ?? '', depth);
      case 'link':
        return this.#hardlink(path, linkname ?? '');
      default:
        this.#known.set(path, size);
        this.#files += 1;
        return { kind: 'file', path };
    }
  }

  #symlink(path: string, target: string, depth: number): AcceptedEntry {
    const problem = targetProblem(target, depth);
    if (problem !== null) throw this.#broken('link_target', `the link ${problem}`);
    this.#checkLength(target, 'link_target', 'the target of the link');
    this.#known.set(path, LINK);
    return { kind: 'symlink', path, target };
  }

  #hardlink(path: string, target: string): AcceptedEntry {
    const file = placeProblem(target) === null ? partsOf(target).join('/') : '';
    const size = this.#known.get(file);
    if (size === undefined || size < 0)
      throw this.#broken('link_target', 'the hard link does not name an earlier file of the archive');
    // What copies the folder may copy the file for each of its names.
    this.#linkedBytes += size;
    this.#known.set(path, size);
    return { kind: 'hardlink', path, file };
  }
}

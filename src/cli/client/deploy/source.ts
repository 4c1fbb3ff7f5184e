/** What is sent of a folder. */

export interface SourceEntry {
  /** Relative to the folder, with slashes. */
  readonly path: string;
  /** Bytes. 0 for a link. */
  readonly size: number;
  readonly isExecutable: boolean;
  /** Target of a symbolic link. null: a file. */
  readonly target: string | null;
  /** Modification time in milliseconds. A file with another time was changed after the folder was read. */
  readonly changed: number;
}

export type LeftOutReason = 'ignored' | 'environment' | 'not a file';

export interface LeftOut {
  /** A folder ends with a slash, and everything in it is left out. */
  readonly path: string;
  readonly reason: LeftOutReason;
}

export interface SourceFolder {
  /** Absolute path. */
  readonly root: string;
  /** Sorted by path. */
  readonly entries: readonly SourceEntry[];
  readonly leftOut: readonly LeftOut[];
  /** Files that are sent although their name, or that of a folder above, begins with `.env`. */
  readonly environment: readonly string[];
}

/** Limits of uploaded archives. The hub applies them while it stores an upload, and the build when it unpacks it. */

export interface ArchiveLimits {
  /** Maximum size of the archive without compression, in bytes. The headers of its entries count. */
  readonly unpackedBytes: number;
  /** Maximum number of entries. */
  readonly entries: number;
  /** Maximum length of a path, and of the target of a link, in bytes. */
  readonly pathBytes: number;
}

/** Maximum length of one part of a path in bytes, as in Linux. */
export const MAX_PART_BYTES = 255;
/** Maximum number of parts of a path. It bounds the time of the checks of an entry. */
export const MAX_PARTS = 100;
/** Maximum size of all paths together in bytes, because they are kept in memory until the end of the archive. */
export const MAX_ALL_PATHS_BYTES = 8 * 1024 * 1024;
/** Maximum size in bytes of what is between two entries: their extended headers, and the padding at the end. */
export const MAX_BETWEEN_BYTES = 1024 * 1024;

export const MEBIBYTE = 1024 * 1024;

/** The limits of a policy (`uploads`). */
export function archiveLimits(uploads: {
  readonly unpacked_mb: number;
  readonly entries: number;
  readonly path_bytes: number;
}): ArchiveLimits {
  const { unpacked_mb, entries, path_bytes: pathBytes } = uploads;
  return { unpackedBytes: unpacked_mb * MEBIBYTE, entries, pathBytes };
}

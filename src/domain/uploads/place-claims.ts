/** Which upload gives its place to a tenant that waits for one (docs/decisions/0143). */

/** Time in milliseconds for which an upload keeps its place. In this time, 64 MiB arrive at 1.1 MiB/s. */
export const KEPT_MS = 60_000;

export interface RunningUpload {
  readonly tenantId: string;
  /** Time in milliseconds since it got its place. */
  readonly ageMs: number;
  /** Number of bytes that have arrived. */
  readonly bytes: number;
}

const rate = ({ bytes, ageMs }: RunningUpload) => bytes / ageMs;

/**
 * The upload that gives its place to a tenant that waits: the slowest upload of the tenants with the most places. A tenant gets
 * no place from tenants that have as few places as itself.
 * @param running the uploads that are not giving their place to others
 * @param claimed number of places that the waiting tenant has, and that others are giving to it
 * @param keptMs how long an upload keeps its place
 * @returns undefined: none now
 */
export function uploadToEnd<U extends RunningUpload>(
  running: readonly U[],
  claimed: number,
  keptMs = KEPT_MS,
): U | undefined {
  const placesOf = ({ tenantId }: RunningUpload) =>
    running.filter((upload) => upload.tenantId === tenantId).length;
  const most = Math.max(0, ...running.map(placesOf));
  if (most <= claimed) return undefined;
  const candidates = running.filter((upload) => placesOf(upload) === most && upload.ageMs > keptMs);
  return candidates.toSorted((one, other) => rate(one) - rate(other))[0];
}

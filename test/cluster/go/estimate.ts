/** How long a build with Go takes. An estimate: recorded rates at first, the measured rate of this build later. */

/** Work that is not in the build cache yet. */
export interface Work {
  /** Bytes of Go source to compile. */
  readonly sourceBytes: number;
  /** Programs to link. */
  readonly programs: number;
}

/** Bytes of Go source that one processor compiles in a second. Recorded with Kubernetes 1.36. */
const BYTES_PER_SECOND = 150_000;
/** Seconds of one processor to link a program of 70 MB. */
const LINK_SECONDS = 8;
/** The part of the work after which only the measured rate counts. */
const MEASURED_AFTER = 0.05;

/** Seconds of one processor that the work takes on the machine where the rates were recorded. */
export function recordedSeconds({ sourceBytes, programs }: Work): number {
  return sourceBytes / BYTES_PER_SECOND + programs * LINK_SECONDS;
}

/** Source and programs of a whole control plane with etcd, kwok and kubectl. */
const CONTROL_PLANE: Work = { sourceBytes: 111_000_000, programs: 6 };

/** Seconds that a build of all programs of the cluster takes when nothing is in the build cache. */
export function coldBuildSeconds(processors: number): number {
  return recordedSeconds(CONTROL_PLANE) / processors;
}

/**
 * Seconds until the work is done.
 * @param processors number of processors that the build can use
 */
export function remainingSeconds(total: Work, done: Work, elapsed: number, processors: number): number {
  const all = recordedSeconds(total);
  if (all === 0) return 0;
  const part = Math.min(1, recordedSeconds(done) / all);
  const recorded = all / processors;
  const measured = part === 0 ? recorded : elapsed / part;
  const trust = Math.min(1, part / MEASURED_AFTER);
  return (1 - part) * (trust * measured + (1 - trust) * recorded);
}

/** "about 6 min", rounded up so that the estimate does not suggest a precision that it lacks. */
export function about(seconds: number): string {
  if (seconds > 90) return `about ${Math.ceil(seconds / 60)} min`;
  return `about ${Math.max(10, Math.ceil(seconds / 10) * 10)} s`;
}

/** A measured time: "2 min 10 s". */
export function exactly(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

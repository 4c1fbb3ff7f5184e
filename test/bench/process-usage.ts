/** Memory and processor time of processes, from /proc. */
import { readFileSync, writeFileSync } from 'node:fs';

/** Resources of a process. */
export interface Usage {
  /** Resident memory in MiB. */
  readonly rssMib: number;
  /** Maximum of the resident memory, in MiB. */
  readonly peakMib: number;
  /** Processor time since its start, in seconds. */
  readonly cpuSeconds: number;
}

/** USER_HZ, which is constant in Linux. */
const TICKS_PER_SECOND = 100;
const KIB_PER_MIB = 1024;
/** Indexes of fields in /proc/PID/stat after the command name: utime and stime, and those of waited-for children. */
const UTIME = 11;
const STIME = 12;
const CUTIME = 13;
const CSTIME = 14;

/** Reads the usage of a process. @throws Error if the process does not exist */
export function processUsage(pid: number): Usage {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command name is in brackets and may contain blanks.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) / KIB_PER_MIB;
  return {
    rssMib: mib('VmRSS'),
    peakMib: mib('VmHWM'),
    cpuSeconds: (Number(fields[UTIME]) + Number(fields[STIME])) / TICKS_PER_SECOND,
  };
}

/**
 * Processor time of a process and of all processes that it has started, including ended ones, in seconds.
 * @throws Error if the process does not exist
 */
export function familyCpuSeconds(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter(Boolean)
    .map(Number);
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const own = [UTIME, STIME, CUTIME, CSTIME].reduce((sum, field) => sum + Number(fields[field]), 0);
  return children.reduce((sum, child) => sum + cpuSecondsOf(child), own / TICKS_PER_SECOND);
}

/** 0 for a process that has just ended. Its time is added to that of its parent a moment later. */
function cpuSecondsOf(pid: number): number {
  try {
    return processUsage(pid).cpuSeconds;
  } catch {
    return 0;
  }
}

/** Resets the maximum of the resident memory. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Indexes of fields in the first line of /proc/stat, which sums all processors. */
const IDLE = 4;
const WAITING_FOR_DISK = 5;
const STOLEN = 8;

/** Unused time of all processors since the start of the machine, in ms. */
export interface Unused {
  /** Time without work, or waiting for a disk. */
  readonly idle: number;
  /** Time in which the host of this virtual machine served others, although there was work. */
  readonly stolen: number;
}

/** Reads the unused time of all processors. */
export function unusedProcessors(): Unused {
  const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const fields = first.split(/\s+/).map(Number);
  const ms = (place: number) => ((fields[place] ?? 0) * 1000) / TICKS_PER_SECOND;
  return { idle: ms(IDLE) + ms(WAITING_FOR_DISK), stolen: ms(STOLEN) };
}

/** The usage of a process, `seconds` after the first sample. */
export interface UsagePoint extends Usage {
  readonly seconds: number;
}

/** Samples the usage of a process until `stop`, or until the process ends. */
export function watchUsage(pid: number, everyMs = 1000): { stop(): readonly UsagePoint[] } {
  const began = performance.now();
  const points: UsagePoint[] = [];
  const sample = () => {
    try {
      points.push({ ...processUsage(pid), seconds: (performance.now() - began) / 1000 });
    } catch {
      clearInterval(timer);
    }
  };
  const timer = setInterval(sample, everyMs);
  sample();
  return {
    stop() {
      clearInterval(timer);
      sample();
      return points;
    },
  };
}

/** Share of one core that a process used between the first and the last sample, from 0 to the number of cores. */
export function cpuShare(points: readonly UsagePoint[]): number {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || last.seconds === first.seconds) return 0;
  return (last.cpuSeconds - first.cpuSeconds) / (last.seconds - first.seconds);
}

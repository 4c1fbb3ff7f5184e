/** Memory and processor time of processes, from /proc. */
import { readFileSync, writeFileSync } from 'node:fs';

export interface Usage {
  /** Resident memory in MiB. */
  readonly rssMib: number;
  /** The most that was ever resident, in MiB. */
  readonly peakMib: number;
  /** Processor time since its start, in seconds. */
  readonly cpuSeconds: number;
}

/** USER_HZ, which Linux fixes for what it tells of time. */
const TICKS_PER_SECOND = 100;
const KIB_PER_MIB = 1024;
/** Fields of /proc/PID/stat after the command's name, counted from the state: utime and stime; of children that were waited for. */
const UTIME = 11;
const STIME = 12;
const CUTIME = 13;
const CSTIME = 14;

/** @throws Error when there is no such process */
export function processUsage(pid: number): Usage {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name stands in brackets and may hold blanks.
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
 * Processor time of a process and of all that it has started, those that have ended with it, in seconds.
 * @throws Error when there is no such process
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

/** 0 for one that has ended meanwhile: its time comes to its parent's a moment later. */
function cpuSecondsOf(pid: number): number {
  try {
    return processUsage(pid).cpuSeconds;
  } catch {
    return 0;
  }
}

/** From now on the most that is resident is told of what comes, not of what was. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Places in the first line of /proc/stat, all processors together. */
const IDLE = 4;
const WAITING_FOR_DISK = 5;
const STOLEN = 8;

/** Since the machine started, of all processors together, in ms. */
export interface Unused {
  /** Nothing ran: there was nothing to do, or only to wait for a disk. */
  readonly idle: number;
  /** Something would have run, but the host of this virtual machine had others to serve. */
  readonly stolen: number;
}

export function unusedProcessors(): Unused {
  const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const fields = first.split(/\s+/).map(Number);
  const ms = (place: number) => ((fields[place] ?? 0) * 1000) / TICKS_PER_SECOND;
  return { idle: ms(IDLE) + ms(WAITING_FOR_DISK), stolen: ms(STOLEN) };
}

/** One look at a process, `seconds` after the first. */
export interface UsagePoint extends Usage {
  readonly seconds: number;
}

/** Looks at a process again and again until it is told to stop, or the process ends. */
export function watchUsage(pid: number, everyMs = 1000): { stop(): readonly UsagePoint[] } {
  const began = performance.now();
  const points: UsagePoint[] = [];
  const look = () => {
    try {
      points.push({ ...processUsage(pid), seconds: (performance.now() - began) / 1000 });
    } catch {
      clearInterval(timer);
    }
  };
  const timer = setInterval(look, everyMs);
  look();
  return {
    stop() {
      clearInterval(timer);
      look();
      return points;
    },
  };
}

/** Share of one core that a process used between the first and the last look; 1: all of it. */
export function cpuShare(points: readonly UsagePoint[]): number {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || last.seconds === first.seconds) return 0;
  return (last.cpuSeconds - first.cpuSeconds) / (last.seconds - first.seconds);
}

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What still runs or is mounted for a state folder, and the folder itself; empty when all of it is gone. */
export function leftovers(stateDir: string): string[] {
  const name = stateDir.slice(stateDir.lastIndexOf('/') + 1);
  const processes = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && entry !== `${process.pid}`);
  // Mounts may be in a namespace that only one process still holds.
  const found = processes.flatMap((pid) => {
    const command = read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
    const mounts = read(`/proc/${pid}/mountinfo`).split('\n');
    return [
      ...(command.includes(stateDir) ? [`process ${pid}: ${command}`] : []),
      ...mounts.filter((line) => line.includes(stateDir)).map((line) => `mount of ${pid}: ${line}`),
    ];
  });
  const cgroups = ['', ...foldersOf('/sys/fs/cgroup')]
    .map((hierarchy) => join('/sys/fs/cgroup', hierarchy, name))
    .filter((path) => existsSync(path));
  return [...found, ...cgroups, ...(existsSync(stateDir) ? [stateDir] : [])];
}

/** Empty where the process has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function foldersOf(path: string): string[] {
  return existsSync(path) ? readdirSync(path) : [];
}

/** The cgroup of all pods of a node. Each node has its own, so that leftovers of a crash can be recognized. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';
/** Controllers of cgroup v1 that kubelet and runc need. */
const CONTROLLERS = ['cpu', 'cpuacct', 'cpuset', 'memory', 'devices', 'freezer', 'blkio', 'pids', 'systemd'];

/** 2 if there is only the unified hierarchy. */
export function cgroupVersion(): 1 | 2 {
  return existsSync(join(ROOT, 'cgroup.controllers')) ? 2 : 1;
}

/** Folders in which a cgroup must be created. Empty if the machine has no control group hierarchy. */
export function hierarchies(): string[] {
  if (cgroupVersion() === 2) return [ROOT];
  return CONTROLLERS.map((name) => join(ROOT, name)).filter((path) => existsSync(path));
}

/** Creates the cgroup `name` in every hierarchy. */
export function makeCgroup(name: string): void {
  for (const hierarchy of hierarchies()) mkdirSync(join(hierarchy, name), { recursive: true });
  const cpuset = join(ROOT, 'cpuset');
  if (cgroupVersion() === 2) {
    const available = readFileSync(join(ROOT, 'cgroup.controllers'), 'utf8').trim().split(' ');
    for (const folder of [ROOT, join(ROOT, name)]) {
      writeFileSync(
        join(folder, 'cgroup.subtree_control'),
        available.map((controller) => `+${controller}`).join(' '),
      );
    }
    return;
  }
  // A new cpuset allows no processors and no memory until they are set.
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    if (existsSync(cpuset)) writeFileSync(join(cpuset, name, file), readFileSync(join(cpuset, file)));
  }
}

/** Whether the cgroup exists in any hierarchy. */
export function cgroupExists(name: string): boolean {
  return hierarchies().some((hierarchy) => existsSync(join(hierarchy, name)));
}

/** The cgroup that holds every pod of a node: of its own, so that what a crash leaves can be told from that of others. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';
/** Of cgroup v1: what the kubelet and runc ask for. */
const CONTROLLERS = ['cpu', 'cpuacct', 'cpuset', 'memory', 'devices', 'freezer', 'blkio', 'pids', 'systemd'];

/** 2 where there is the unified hierarchy alone. */
export function cgroupVersion(): 1 | 2 {
  return existsSync(join(ROOT, 'cgroup.controllers')) ? 2 : 1;
}

/** Folders in which a cgroup has to be made; empty where there are none. */
export function hierarchies(): string[] {
  if (cgroupVersion() === 2) return [ROOT];
  return CONTROLLERS.map((name) => join(ROOT, name)).filter((path) => existsSync(path));
}

/** Makes the cgroup `name` in every hierarchy. */
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
  // A new one may use no processor and no memory at all until it is told.
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    if (existsSync(cpuset)) writeFileSync(join(cpuset, name, file), readFileSync(join(cpuset, file)));
  }
}

/** Whether any of it is still there. */
export function cgroupExists(name: string): boolean {
  return hierarchies().some((hierarchy) => existsSync(join(hierarchy, name)));
}

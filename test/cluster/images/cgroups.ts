import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';

/** Removes the cgroups with this name and their children in every hierarchy. A cgroup with processes stays. */
export function removeCgroups(name: string): void {
  for (const hierarchy of ['', ...folders(ROOT)]) {
    const path = join(ROOT, hierarchy, name);
    if (existsSync(path)) removeTree(path);
  }
}

/** Removes cgroups with this prefix whose folder in `parent` no longer exists. They are leftovers of a crash. */
export function removeOrphanedCgroups(prefix: string, parent: string): void {
  const names = ['', ...folders(ROOT)].flatMap((hierarchy) => folders(join(ROOT, hierarchy)));
  for (const name of new Set(names)) {
    if (name.startsWith(prefix) && !existsSync(join(parent, name))) removeCgroups(name);
  }
}

function removeTree(path: string): void {
  for (const child of folders(path)) removeTree(join(path, child));
  try {
    rmdirSync(path);
  } catch {
    // Not empty, or removed by another process.
  }
}

function folders(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

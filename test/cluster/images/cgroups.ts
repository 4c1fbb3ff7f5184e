import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';

/** Removes the cgroups of this name and those below, in every hierarchy; one that still holds a process stays. */
export function removeCgroups(name: string): void {
  for (const hierarchy of ['', ...folders(ROOT)]) {
    const path = join(ROOT, hierarchy, name);
    if (existsSync(path)) removeTree(path);
  }
}

/** Removes the cgroups named after a folder of `parent` that begins with `prefix` and is no longer there: a crash leaves them. */
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
    // Not empty, or just removed by somebody else.
  }
}

function folders(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

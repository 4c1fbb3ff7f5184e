/**
 * Checks that folders of src/ stay small enough to read at a glance. `npm run check` runs it.
 *
 *   node scripts/check-folders.ts [--help] [ROOT]
 */
import { globSync } from 'node:fs';
import { dirname } from 'node:path';

/** Maximum number of files directly in a folder below src/. */
export const MAX_FILES = 20;
/** Maximum number of files directly in src/. */
export const MAX_ROOT_FILES = 3;

/** One line for each folder of ROOT/src that contains too many files. */
export function crowdedFolders(root: string): string[] {
  const counts = new Map<string, number>();
  for (const file of globSync('src/**/*.{ts,tsx}', { cwd: root })) {
    const folder = dirname(file);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts].flatMap(([folder, count]) => {
    const most = folder === 'src' ? MAX_ROOT_FILES : MAX_FILES;
    return count > most
      ? [`${folder}: ${count} files, at most ${most} are allowed; move some to a folder of their own`]
      : [];
  });
}

if (import.meta.main) {
  if (process.argv.includes('--help')) {
    console.log(
      'usage: node scripts/check-folders.ts [ROOT]\nChecks the number of files in each folder of ROOT/src (default: this folder).',
    );
    process.exit(0);
  }
  const crowded = crowdedFolders(process.argv[2] ?? '.');
  for (const line of crowded) console.error(line);
  console.log(crowded.length === 0 ? 'folders: ok' : `folders: ${crowded.length} too large`);
  process.exit(crowded.length === 0 ? 0 : 1);
}

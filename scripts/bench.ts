/**
 * Runs the benches of test/bench on this machine and compares each result with its floor, the cost of the same work without
 * Berth: npm run bench -- --help
 */
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Bench, describeBench } from '../test/bench/bench.ts';
import { assertNotTakenByNpm, HELP, messageOf, readArguments } from '../test/bench/command-line.ts';
import { comparable } from '../test/bench/compare.ts';
import { columns, readEntries } from '../test/bench/report.ts';
import { assertWorthWriting, log, measure } from '../test/bench/run.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Every bench, sorted by name. */
export async function loadBenches(): Promise<Bench[]> {
  const files = globSync('test/bench/**/*.bench.ts', { cwd: root });
  const modules = await Promise.all(
    files.map((file) => import(pathToFileURL(join(root, file)).href) as Promise<{ bench: Bench }>),
  );
  return modules.map(({ bench }) => bench).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** @throws Error for a name that no bench begins with */
export function chooseBenches(benches: readonly Bench[], names: readonly string[]): Bench[] {
  const unknown = names.find((name) => !benches.some((bench) => bench.name.startsWith(name)));
  if (unknown !== undefined)
    throw new Error(
      `there is no bench "${unknown}"; there are ${benches.map(({ name }) => name).join(', ')}`,
    );
  const isWhole = (word: string) => benches.some(({ name }) => name === word);
  return benches.filter(
    ({ name }) =>
      names.length === 0 || names.some((word) => (isWhole(word) ? name === word : name.startsWith(word))),
  );
}

/** Paths that a checkout needs so that the benches can start its Berth. */
const NEEDED = ['src/main.ts', 'package.json', 'node_modules'];

/** @throws Error that names the missing path */
export function assertCheckout(folder: string): void {
  const missing = NEEDED.find((path) => !existsSync(join(folder, path)));
  if (missing === undefined) return;
  const next = missing === 'node_modules' ? ': run npm ci there' : ': it is not a checkout of Berth';
  throw new Error(`failed to compare with ${folder}: it has no ${missing}${next}`);
}

/** The benches as a table. The descriptions state the sizes that apply without --n. */
export const listed = (benches: readonly Bench[]): string =>
  columns([
    ['bench', 'n', 'goals from', 'what is measured, of n'],
    ...benches.map((bench) => [
      bench.name,
      String(bench.n),
      bench.goalsFrom === undefined ? 'any' : `--n ${bench.goalsFrom}`,
      describeBench(bench, bench.n),
    ]),
  ]);

async function main(args: readonly string[]): Promise<void> {
  const asked = readArguments(args);
  assertNotTakenByNpm(asked, process.env);
  if (asked.help) {
    console.log(HELP);
    return;
  }
  for (const folder of asked.checkouts ?? []) assertCheckout(folder);
  const all = await loadBenches();
  const chosen = chooseBenches(all, asked.names);
  const benches = asked.checkouts === null ? chosen : comparable(chosen, asked.names.length > 0, log);
  if (asked.list) {
    console.log(listed(benches));
    return;
  }
  if (asked.write && !asked.force) {
    const entries = readEntries(root);
    for (const bench of benches) assertWorthWriting(bench, asked, entries);
  }
  await measure(asked, benches, { all, typed: args.join(' ') });
}

if (import.meta.main) {
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    console.error(`npm run bench: ${messageOf(error)}`);
    process.exitCode = 1;
  }
}

/**
 * Measures Berth beside floors on this machine: npm run bench -- --help
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

/** Every bench, in the order of their names. */
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

/** What a checkout has to have, so that its Berth can be started. */
const NEEDED = ['src/main.ts', 'package.json', 'node_modules'];

/** @throws Error that names what is missing */
export function assertCheckout(folder: string): void {
  const missing = NEEDED.find((path) => !existsSync(join(folder, path)));
  if (missing === undefined) return;
  const next = missing === 'node_modules' ? ': run npm ci there' : ': it is no checkout of Berth';
  throw new Error(`failed to compare with ${folder}: there is no ${missing} in it${next}`);
}

/** The benches as a table. The description is of as many as there are without --n. */
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

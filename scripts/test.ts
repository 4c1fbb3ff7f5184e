/**
 * Runs all tests against a real PostgreSQL and a real Kubernetes API server. The last line is `N passed, N failed`.
 *
 *   npm test [-- FILTER …] [-- --help]
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { resolveEveryProgram } from '../test/cluster/every-program.ts';
import { compileCache } from '../test/installation/berth-process.ts';
import { buildConsole } from './console/build.ts';

const HELP = `usage: npm test [-- ARGUMENT …]
Runs all tests except long ones and those on a real node (npm run e2e). Passes the arguments to vitest, for example:
  npm test -- --project unit          pure tests only, in seconds
  npm test -- patch                   the files whose path contains "patch"
The last line is: N passed, N failed[, N skipped]. The exit code is 0 only when nothing failed.`;

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  numTotalTests: number;
  testResults: {
    status: string;
    assertionResults: { status?: string; fullName?: string }[];
    message: string;
    name: string;
  }[];
}

/** The closing line from vitest's JSON report. A file that failed to load counts as one failure. */
export function closingLine(report: Report): { line: string; failed: boolean } {
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  );
  const failed = report.numFailedTests + brokenFiles.length;
  const skipped = report.numPendingTests + report.numTodoTests;
  const line = `${report.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
  return { line, failed: failed > 0 || report.numPassedTests === 0 };
}

/** The tests that were skipped, by file and name. */
export function skippedTests({ testResults }: Pick<Report, 'testResults'>): string[] {
  return testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'skipped' || status === 'todo')
      .map(({ fullName }) => `${relative(process.cwd(), name)}: ${fullName}`),
  );
}

function runVitest(args: readonly string[], output: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [
        'node_modules/vitest/vitest.mjs',
        'run',
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${output}`,
        ...args,
      ],
      // Each file has its own process, so node would compile the same packages hundreds of times.
      { stdio: 'inherit', env: { ...process.env, ...compileCache() } },
    );
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

interface TestRun {
  /** The exit code. */
  readonly code: number;
  /** The closing line. */
  readonly line: string;
}

/**
 * Runs vitest with these arguments, prints the closing line and returns it with the exit code.
 * @param options.allowSkips false: a skipped test is a failure, and its name is printed
 */
export async function runAndCount(
  args: readonly string[],
  options: { allowSkips?: boolean } = {},
): Promise<TestRun> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'));
  try {
    const output = join(folder, 'report.json');
    const code = await runVitest(args, output);
    const report = JSON.parse(readFileSync(output, 'utf8')) as Report;
    const { line, failed } = closingLine(report);
    const skipped = options.allowSkips === false ? skippedTests(report) : [];
    for (const name of skipped) console.log(`skipped, but required: ${name}`);
    // An unhandled error outside the tests makes vitest fail even if every test passed.
    if (code !== 0 && !failed)
      console.log(`vitest ended with ${code}: an error outside the tests, see above`);
    console.log(line);
    return { code: code === 0 && !failed && skipped.length === 0 ? 0 : 1, line };
  } catch (error) {
    console.error(`failed to run the tests: ${error instanceof Error ? error.message : String(error)}`);
    const line = '0 passed, 1 failed';
    console.log(line);
    return { code: 1, line };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As `runAndCount`. @returns the exit code */
export const runTests = async (...parameters: Parameters<typeof runAndCount>): Promise<number> =>
  (await runAndCount(...parameters)).code;

/**
 * Builds the programs that the tests start. If a build fails, only the test files that need the program fail or are skipped.
 */
export async function buildPrograms(): Promise<void> {
  try {
    await resolveEveryProgram({ log: console.log });
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
  }
}

/** Excludes the tests of `npm run e2e`, which take minutes or need a machine that can run containers. */
function withoutLong(args: readonly string[]): readonly string[] {
  return args.some((arg) => arg.startsWith('--project'))
    ? args
    : ['--project', '!e2e', '--project', '!long', ...args];
}

if (import.meta.main) {
  if (process.argv.includes('--help')) console.log(HELP);
  else {
    const args = process.argv.slice(2);
    // A few tests may not need all programs. They build what they need.
    if (args.length === 0) {
      await buildPrograms();
      // Cached by content. Each test that needs the files fails by itself if they cannot be built.
      await buildConsole().catch((error) => console.error(String(error)));
    }
    process.exitCode = await runTests(withoutLong(args));
  }
}

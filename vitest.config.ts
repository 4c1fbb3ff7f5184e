import { defineConfig } from 'vitest/config';

/**
 * `unit`: pure, no process beside it. `integration`: one PostgreSQL and one Kubernetes control plane for the whole run.
 * `fuzz`: the API against its own document, on a PostgreSQL of its own.
 * `faults`: the subset of the fault plans (npm run faults), in worlds of their own.
 * `long`: tests like those of `integration` that take minutes (npm run e2e).
 * `console`: the web console in a browser, on one Berth that its files share.
 * `e2e`: a real node with containers, where the machine allows (npm run e2e).
 * Files run side by side; each makes its own database and its own namespaces.
 */

/**
 * Vitest runs projects with the same number of workers in one pool: unit tests run while tests of the cluster wait. The
 * order is faults, fuzz, integration, unit, so that short files fill the end.
 */
const maxWorkers = 4;

/** Vitest's default of a second is too short on a busy machine. Only a test that fails takes this long. */
const expectOptions = { poll: { timeout: 20_000 } };

const LONG = 'test/integration/**/*.long.test.ts';
const integration = {
  globalSetup: ['test/integration/harness/cluster.ts'],
  setupFiles: ['test/integration/harness/check-every-answer.ts'],
  // Loading and compiling the modules again took two seconds of processor time for each file.
  isolate: false,
  restoreMocks: true,
  expect: expectOptions,
  testTimeout: 120_000,
  hookTimeout: 120_000,
  maxWorkers,
};

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          // Pure tests need no modules of their own: loading them for each file took as long as half of the tests.
          isolate: false,
          restoreMocks: true,
          expect: expectOptions,
          testTimeout: 60_000,
          maxWorkers,
        },
      },
      { test: { name: 'fuzz', include: ['test/fuzz/**/*.test.ts'], maxWorkers } },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          exclude: [LONG],
          ...integration,
        },
      },
      { test: { name: 'long', include: [LONG], ...integration } },
      {
        test: {
          name: 'console',
          // With BERTH_SCREENSHOTS, only the pictures of the documentation are made.
          include: [
            process.env['BERTH_SCREENSHOTS'] ? 'test/console/screenshots.ts' : 'test/console/**/*.test.ts',
          ],
          globalSetup: ['test/console/harness/stack.ts'],
          isolate: false,
          expect: expectOptions,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers,
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          globalSetup: ['test/integration/harness/cluster.ts'],
          // A plan mostly waits for leases. Other files run beside the plans.
          maxConcurrency: 2,
          maxWorkers,
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/e2e/harness/setup.ts'],
          testTimeout: 240_000,
          hookTimeout: 240_000,
          // One node, with two processors. The long tests run before.
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});

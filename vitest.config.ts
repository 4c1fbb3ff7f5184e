import { defineConfig } from 'vitest/config';

/**
 * `unit`: pure, no process beside it. `integration`: one PostgreSQL and one Kubernetes control plane for the whole run.
 * `fuzz`: the API against its own document, on a PostgreSQL of its own.
 * Files run side by side; each makes its own database and its own namespaces.
 */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 30_000 } },
      { test: { name: 'fuzz', include: ['test/fuzz/**/*.test.ts'] } },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/integration/harness/cluster.ts'],
          setupFiles: ['test/integration/harness/hold-every-answer.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});

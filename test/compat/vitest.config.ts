import { defineConfig } from 'vitest/config';

/** Run by `npm run compat` alone: it needs pg_dump, which npm does not bring. */
export default defineConfig({
  test: { include: ['test/compat/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 },
});

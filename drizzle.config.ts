import { defineConfig } from 'drizzle-kit';

/** `npx drizzle-kit generate --name <what>` writes the migration that src/hub/store/core/schema.ts needs. */
export default defineConfig({
  dialect: 'postgresql',
  schema: './src/hub/store/core/schema.ts',
  out: './src/hub/store/migrations',
});

import { defineConfig } from 'drizzle-kit';

/** `npx drizzle-kit generate --name <what>` writes the migration that src/store/schema.ts needs. */
export default defineConfig({
  dialect: 'postgresql',
  schema: './src/store/schema.ts',
  out: './src/store/migrations',
});

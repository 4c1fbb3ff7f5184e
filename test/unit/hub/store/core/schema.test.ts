import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import { expect, test } from 'vitest';
import * as schema from '../../../../../src/hub/store/core/schema.ts';

const folder = fileURLToPath(new URL('../../../../../src/hub/store/migrations/', import.meta.url));

test('the migrations produce the schema (to add a missing one, run npx drizzle-kit generate)', async () => {
  const newest = readdirSync(`${folder}meta`)
    .filter((name) => name.endsWith('_snapshot.json'))
    .sort()
    .at(-1);
  const migrated = JSON.parse(readFileSync(`${folder}meta/${newest}`, 'utf8'));
  expect(await generateMigration(migrated, generateDrizzleJson(schema, migrated.id))).toEqual([]);
});

test('the journal lists every migration in order', () => {
  const { entries } = JSON.parse(readFileSync(`${folder}meta/_journal.json`, 'utf8')) as {
    entries: { tag: string; when: number }[];
  };
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  expect(entries.map(({ tag }) => `${tag}.sql`)).toEqual(files.sort());
  const times = entries.map(({ when }) => when);
  expect(times.toSorted((a, b) => a - b)).toEqual(times);
});

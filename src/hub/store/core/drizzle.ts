import { createRequire } from 'node:module';

/**
 * Loads drizzle in its CommonJS form. For each of the hundred modules of the ESM form, node parses drizzle's
 * package.json of 180 kB again, which takes eight times as long and 200 MiB of memory.
 */
const load = createRequire(import.meta.url);

export const {
  and,
  asc,
  count,
  desc,
  eq,
  getTableColumns,
  getTableName,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  ne,
  not,
  notInArray,
  notLike,
  or,
  sql,
} = load('drizzle-orm') as typeof import('drizzle-orm');
export const {
  alias,
  bigint,
  boolean,
  customType,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} = load('drizzle-orm/pg-core') as typeof import('drizzle-orm/pg-core');
export const { drizzle } = load('drizzle-orm/node-postgres') as typeof import('drizzle-orm/node-postgres');
export const { migrate } = load(
  'drizzle-orm/node-postgres/migrator',
) as typeof import('drizzle-orm/node-postgres/migrator');
export const { DrizzleQueryError } = load('drizzle-orm/errors') as typeof import('drizzle-orm/errors');
export type { SQL } from 'drizzle-orm';
export type { NodePgDatabase } from 'drizzle-orm/node-postgres';
export type { PgColumn, PgTable } from 'drizzle-orm/pg-core';

import { normalizedName, partSpellingsOf, SPACE_CHARACTERS } from '../../../domain/core/name.ts';
import type { Reader } from '../core/database.ts';
import { and, eq, getTableName, sql } from '../core/drizzle.ts';
import { UniqueViolation } from '../core/errors.ts';
import { integrations, listeners, tagKeys, tagValues, tenants } from '../core/schema.ts';

/**
 * SQL of the normalized form of a stored name. This form is the form of normalizedName, without the trimming of spaces.
 */
const composed = (column: string) =>
  `translate(normalize(${column}), '${SPACE_CHARACTERS}', '${' '.repeat(SPACE_CHARACTERS.length)}')`;

/**
 * SQL: whether a stored name is trimmed ASCII, which is already normalized. The check avoids the normalization of
 * thousands of names, which is slow in PostgreSQL.
 */
export const isPlain = (column: string) =>
  `octet_length(${column}) = length(${column}) AND ${column} = btrim(${column})`;

/** SQL: whether a stored name that is not plain equals a given name. @param name SQL of the normalized name */
export const isSpelling = (column: string, name: string) => `btrim(${composed(column)}) = ${name}`;

/**
 * SQL: whether a stored name equals a given name, in any spelling. Early versions stored names as they were sent.
 * @param name SQL of the normalized name
 */
export const hasName = (column: string, name: string) =>
  `(${column} = ${name}
    OR CASE WHEN ${isPlain(column)} THEN false ELSE ${isSpelling(column, name)} END)`;

/** LIKE patterns for a part of a name. `%` and `_` have no special meaning. */
export function namePatterns(part: string): string[] {
  return partSpellingsOf(part).map((spelling) => `%${spelling.replace(/[\\%_]/g, '\\$&')}%`);
}

/**
 * SQL: whether a stored name matches one of these patterns, literally or normalized.
 * @param patterns SQL of the result of namePatterns
 */
export const isNameLike = (column: string, patterns: string) =>
  `(${column} LIKE ANY(${patterns})
    OR CASE WHEN ${isPlain(column)} THEN false ELSE ${composed(column)} LIKE ANY(${patterns}) END)`;

/** hasName as a condition of drizzle. @param column column, qualified with the table, as written in the statement */
export const named = (column: string, name: string) =>
  sql`EXISTS (SELECT FROM (SELECT ${normalizedName(name)}::text AS name) AS wanted
    WHERE ${sql.raw(hasName(column, 'wanted.name'))})`;

/** isNameLike as a condition of drizzle, for a part of a name. */
export const namedLike = (column: string, part: string) =>
  sql`EXISTS (SELECT FROM (SELECT ${sql.param(namePatterns(part))}::text[] AS patterns) AS wanted
    WHERE ${sql.raw(isNameLike(column, 'wanted.patterns'))})`;

/** The tables with unique names, by unique index: the column of the name, and of its scope. */
const NAMED = {
  tenants_name: { table: tenants, name: tenants.name, scope: null },
  listeners_compute_id: { table: listeners, name: listeners.computeId, scope: listeners.tenantId },
  integrations_name: { table: integrations, name: integrations.name, scope: integrations.tenantId },
  tag_keys_key: { table: tagKeys, name: tagKeys.key, scope: tagKeys.tenantId },
  tag_values_value: { table: tagValues, name: tagValues.value, scope: tagValues.tagKeyId },
} as const;

export type NameIndex = keyof typeof NAMED;

/** Rows with the same normalized name, oldest first. @param owner the scope of the index */
export function findSameName(
  reader: Reader,
  index: NameIndex,
  owner: string | null,
  name: string,
): Promise<{ id: string; name: string }[]> {
  const { table, name: column, scope } = NAMED[index];
  if (scope !== null && owner === null) throw new TypeError(`failed to find a name: ${index} needs an owner`);
  return reader.drizzle
    .select({ id: table.id, name: column })
    .from(table)
    .where(
      and(
        named(`${getTableName(table)}.${column.name}`, name),
        scope && owner !== null ? eq(scope, owner) : undefined,
      ),
    )
    .orderBy(table.id);
}

/**
 * Rejects a name that another row has in another spelling. The unique index compares names literally.
 * @param ownId the row that gets the name; absent: a new row
 * @throws UniqueViolation of the index
 */
export async function rejectSameName(
  reader: Reader,
  index: NameIndex,
  { owner, name, ownId }: { owner: string | null; name: string; ownId?: string },
): Promise<void> {
  const others = await findSameName(reader, index, owner, name);
  if (others.some(({ id }) => id !== ownId)) throw new UniqueViolation(index);
}

import { normalizedName, SPACE_CHARACTERS } from '../domain/name.ts';
import type { Reader } from './database.ts';
import { UniqueViolation } from './errors.ts';

/** The one form of a stored name, as normalizedName computes it: names were once stored as they were sent. */
const normalizedColumn = (column: string) =>
  `btrim(translate(normalize(${column}), '${SPACE_CHARACTERS}', '${' '.repeat(SPACE_CHARACTERS.length)}'))`;

const find = (table: string, column: string, scope: string | null) =>
  `SELECT id, ${column} AS name FROM ${table}
   WHERE ${normalizedColumn(column)} = $1${scope === null ? '' : ` AND ${scope} = $2`} ORDER BY id`;

/** By the unique index: rows whose name is the same in one form. These tables are small for each owner. */
const FIND = {
  tenants_name: find('tenants', 'name', null),
  listeners_compute_id: find('listeners', 'compute_id', 'tenant_id'),
  integrations_name: find('integrations', 'name', 'tenant_id'),
  tag_keys_key: find('tag_keys', 'key', 'tenant_id'),
  tag_values_value: find('tag_values', 'value', 'tag_key_id'),
} as const;

export type NameIndex = keyof typeof FIND;

/** Rows whose name has the same one form as this name, oldest first. @param owner the scope of the index */
export function findSameName(
  reader: Reader,
  index: NameIndex,
  owner: string | null,
  name: string,
): Promise<{ id: string; name: string }[]> {
  return reader.query(FIND[index], [normalizedName(name), ...(owner === null ? [] : [owner])]);
}

/**
 * Refuses a name that another row has in another spelling; the unique index compares names as they are stored.
 * @param ownId the row that gets the name; absent: a new one
 * @throws UniqueViolation of this index
 */
export async function refuseSameName(
  reader: Reader,
  index: NameIndex,
  { owner, name, ownId }: { owner: string | null; name: string; ownId?: string },
): Promise<void> {
  const others = await findSameName(reader, index, owner, name);
  if (others.some(({ id }) => id !== ownId)) throw new UniqueViolation(index);
}

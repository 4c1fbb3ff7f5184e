import { customType } from '../core/drizzle.ts';

/** A column of bytes; drizzle has none of its own. */
export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

import { customType } from '../core/drizzle.ts';

/** A column of bytes. drizzle has no such type. */
export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

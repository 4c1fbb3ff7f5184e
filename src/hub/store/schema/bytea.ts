import { customType } from '../core/drizzle.ts';

/** A column of bytes, for which drizzle has no type. */
export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

import { z } from 'zod';
import type { BodyIssue } from '../core/body-issue.ts';
import { isObject } from '../core/is-object.ts';

/** Whether Berth runs a database and a cache for a deployment. */

/** The settings of the database. */
export interface DatabaseSettings {
  /** Absent: true. */
  enabled?: boolean | undefined;
  /** The owner confirms that the volume of a database that is switched off is deleted. */
  remove_volume?: boolean | undefined;
}

/** The settings of the cache, which has no volume. */
export interface CacheSettings {
  /** Absent: true. */
  enabled?: boolean | undefined;
}

type Sent<T> = { readonly [Member in keyof T]?: T[Member] | null };

const DATABASE =
  'Whether Berth runs a PostgreSQL database for the deployment. A PATCH changes the members that it contains.';
const DATABASE_ENABLED =
  'false: no database, no volume and no DATABASE_URI, unless DATABASE_URI_CUSTOM is set. An existing volume is kept until ' +
  'the deployment is deleted or remove_volume is true. Default: true.';
const REMOVE_VOLUME =
  'true: confirms that the volume of a database with enabled: false is deleted, with all its data. The deletion cannot be ' +
  'undone. The confirmation applies to the one volume claim that exists when the request is applied, and to no later claim. ' +
  'It needs enabled: false. It can be taken back, also with enabled: true, until the removal has begun, then the response is ' +
  '409. When the claim is gone, the server resets the field. Default: false, so the volume is kept.';
const CACHE =
  'Whether Berth runs a Valkey/Redis cache for the deployment. A PATCH changes the members that it contains.';
const CACHE_ENABLED = 'false: no cache and no CACHE_URI, unless CACHE_URI_CUSTOM is set. Default: true.';

/** The settings of the database in requests. */
export const databaseBodySchema = z
  .strictObject({
    enabled: z.boolean().nullish().describe(DATABASE_ENABLED),
    remove_volume: z.boolean().nullish().describe(REMOVE_VOLUME),
  })
  .describe(DATABASE)
  .meta({ examples: [{ enabled: false }] });

/** The settings of the cache in requests. */
export const cacheBodySchema = z
  .strictObject({ enabled: z.boolean().nullish().describe(CACHE_ENABLED) })
  .describe(CACHE)
  .meta({ examples: [{ enabled: false }] });

/** These fields of a request. null has the same meaning as an absent field, except in a PATCH, where null clears. */
export const dataServicesBodyShape = {
  database: databaseBodySchema.nullish(),
  cache: cacheBodySchema.nullish(),
};

/** The settings of the database in responses. An unset member is absent. */
export const shownDatabaseSchema = z
  .object({
    enabled: z.boolean().optional().describe(DATABASE_ENABLED),
    remove_volume: z.boolean().optional().describe(REMOVE_VOLUME),
  })
  .describe(DATABASE);

/** The settings of the cache in responses. An unset member is absent. */
export const shownCacheSchema = z
  .object({ enabled: z.boolean().optional().describe(CACHE_ENABLED) })
  .describe(CACHE);

/** The data services, which are also the names of their settings. */
export const DATA_SERVICE_SETTINGS = ['database', 'cache'] as const;
type DataServiceSetting = (typeof DATA_SERVICE_SETTINGS)[number];

/** Whether a setting is that of a data service. */
export const isDataServiceSetting = (field: string): field is DataServiceSetting =>
  (DATA_SERVICE_SETTINGS as readonly string[]).includes(field);

const MEMBERS = ['enabled', 'remove_volume'] as const;

/** Only the members with a value, in the order of the contract. undefined: no member has a value. */
export function setMembers(settings: unknown): DatabaseSettings | undefined {
  if (!isObject(settings)) return undefined;
  const given = MEMBERS.filter((name) => settings[name] != null).map((name) => [name, settings[name]]);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/**
 * Merges the settings of a PATCH by member. null clears all of them, or a member. The confirmation to delete the volume
 * belongs to one switched-off state, so a request that switches the database on ends it.
 */
export function mergeDataService(
  stored: DatabaseSettings | undefined,
  sent: Sent<DatabaseSettings> | null | undefined,
): DatabaseSettings | undefined {
  if (sent === undefined) return stored;
  if (sent === null) return undefined;
  const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined));
  const merged = setMembers({ ...stored, ...given });
  if (merged?.enabled === false || sent.remove_volume !== undefined) return merged;
  const { remove_volume: _, ...others } = merged ?? {};
  return setMembers(others);
}

/** The settings of a PUT as a PATCH: absent members are cleared. */
export function allMembers(
  field: DataServiceSetting,
  sent: Sent<DatabaseSettings> | null | undefined,
): Sent<DatabaseSettings> | null {
  if (sent == null) return null;
  const { enabled = null, remove_volume = null } = sent;
  return field === 'database' ? { enabled, remove_volume } : { enabled };
}

interface DataServices {
  readonly database?: DatabaseSettings | undefined;
  readonly cache?: CacheSettings | undefined;
}

/** The data services that the owner has switched off. */
export const disabledServices = ({ database, cache }: DataServices) => ({
  database: database?.enabled === false,
  cache: cache?.enabled === false,
});

/** Whether the owner confirms that the volume of the database is deleted. */
export const confirmsVolumeRemoval = ({ database }: DataServices): boolean =>
  database?.enabled === false && database.remove_volume === true;

/** A confirmation to delete the volume of a database that is in use. */
export function dataServiceIssues({ database }: DataServices): BodyIssue[] {
  if (database?.remove_volume !== true || database.enabled === false) return [];
  return [
    {
      loc: ['source_config', 'database', 'remove_volume'],
      msg: 'must not be true unless enabled is false',
      type: 'volume_in_use',
    },
  ];
}

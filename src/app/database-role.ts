import { type Config, ConfigError } from '../config/index.ts';
import type { Logger } from '../domain/core/logger.ts';
import type { Database } from '../hub/store/core/database.ts';
import { readDatabaseRole, unboundRole } from '../hub/store/core/row-security.ts';

/**
 * Checks that row-level security applies to the user of DATABASE_URL. In cloud mode, where tenants do not trust each
 * other, a user that bypasses row-level security is rejected unless the configuration allows it. In other modes, a user
 * that bypasses row-level security causes only a warning.
 * @throws ConfigError, StoreError
 */
export async function checkDatabaseRole(
  database: Database,
  { allowRlsBypass, hosting }: Pick<Config, 'allowRlsBypass' | 'hosting'>,
  logger: Logger,
): Promise<void> {
  const role = await database.platform.read(readDatabaseRole);
  if (role.unboundAs === null) return;
  const refused = allowRlsBypass === null ? hosting === 'cloud' : !allowRlsBypass;
  const text = unboundRole(role);
  if (refused) throw new ConfigError([`${text}, or set BERTH_ALLOW_RLS_BYPASS=true`]);
  logger.warn({ user: role.name }, text);
}

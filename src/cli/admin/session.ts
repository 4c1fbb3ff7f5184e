import { createLogger } from '../../app/logging.ts';
import { type Config, describeUnknown, loadConfig } from '../../config/index.ts';
import type { Logger } from '../../domain/core/logger.ts';

/** What one-shot commands of administrators need. */
export interface AdminSession {
  readonly config: Config;
  readonly logger: Logger;
}

/** The settings of a one-shot command. Unknown settings are reported on standard error. */
export function adminSession(): AdminSession {
  const config = loadConfig();
  for (const setting of config.unknownSettings) console.error(`berth: ${describeUnknown(setting)}`);
  return { config, logger: createLogger('warn') };
}

/** The part of a pino logger that the rooms use; any implementation with these four methods serves. */
export interface Logger {
  /** Whether such lines are written at all, for who puts together what costs; absent: they are. */
  isLevelEnabled?(level: 'debug' | 'info'): boolean;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** A logger whose every line has these fields too; a line's own win. */
export function withFields(logger: Logger, fields: object): Logger {
  return {
    debug: (more, message) => logger.debug({ ...fields, ...more }, message),
    info: (more, message) => logger.info({ ...fields, ...more }, message),
    warn: (more, message) => logger.warn({ ...fields, ...more }, message),
    error: (more, message) => logger.error({ ...fields, ...more }, message),
  };
}

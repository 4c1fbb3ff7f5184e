/** The methods of a pino logger that the modules use. */
export interface Logger {
  /** Whether lines of this level are written, to avoid the cost of expensive fields. Absent: all levels are written. */
  isLevelEnabled?(level: 'debug' | 'info'): boolean;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** A logger that adds these fields to every line. Fields of a single line take precedence. */
export function withFields(logger: Logger, fields: object): Logger {
  return {
    debug: (more, message) => logger.debug({ ...fields, ...more }, message),
    info: (more, message) => logger.info({ ...fields, ...more }, message),
    warn: (more, message) => logger.warn({ ...fields, ...more }, message),
    error: (more, message) => logger.error({ ...fields, ...more }, message),
  };
}

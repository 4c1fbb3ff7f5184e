import { pino } from 'pino';
import type { Logger } from '../domain/core/logger.ts';

/** Names of members that may hold a secret, at any depth of a logged object. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([
  'secrets',
  'value',
  'data',
  'password',
  'token',
  'key',
  'api_key',
  'authorization',
  'x-api-key',
  'cookie',
]);
const CENSOR = '**********';
/** Depth to which members are redacted. Deeper members are not inspected. */
const LEVELS = 3;

/** The value as JSON serializes it. */
const plainOf = (value: object): unknown =>
  'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON() : value;

function redactedMember(name: string, value: unknown, levels: number): unknown {
  if (value === undefined) return value;
  if (SECRET_MEMBERS.has(name)) return CENSOR;
  if (typeof value !== 'object' || value === null || levels === 0) return value;
  const plain = plainOf(value);
  return typeof plain === 'object' && plain !== null ? redacted(plain, levels) : plain;
}

/**
 * Redacts possible secrets in the fields of a line, in one pass. The redaction of pino follows each path separately.
 * That redaction took longer than all other work for a line.
 */
function redacted(fields: object, levels: number): object {
  const entries = Object.entries(fields).map(
    ([name, value]) => [name, redactedMember(name, value, levels - 1)] as const,
  );
  return Array.isArray(fields) ? entries.map(([, value]) => value) : Object.fromEntries(entries);
}

const ERROR = 'err';

function redactedFields(fields: Record<string, unknown>): Record<string, unknown> {
  const error = fields[ERROR];
  const serialized = error instanceof Error ? { ...fields, [ERROR]: pino.stdSerializers.err(error) } : fields;
  return redacted(serialized, LEVELS) as Record<string, unknown>;
}

/**
 * The logger of the process: JSON lines on standard output, with secrets redacted. The type is Logger, not the type of
 * pino, because fields of pino's child loggers would not be redacted.
 * @param destination instead of standard output
 */
export function createLogger(level: string, destination?: { write(line: string): void }): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: redactedFields },
    // redactedFields has already serialized errors.
    serializers: { [ERROR]: (error: unknown) => error },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

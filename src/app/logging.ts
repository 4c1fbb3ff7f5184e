import { pino } from 'pino';
import type { Logger } from '../domain/core/logger.ts';

/** Members that may hold a secret, wherever they stand in what is logged. */
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
/** Of members of members of what is logged; what is deeper is not looked at. */
const LEVELS = 3;

/** As JSON has it. */
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
 * The same without what may be secret. In one walk: pino's own redaction looks along each path by itself, at each value
 * of a line, which took longer than all else about a line.
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
  const told = error instanceof Error ? { ...fields, [ERROR]: pino.stdSerializers.err(error) } : fields;
  return redacted(told, LEVELS) as Record<string, unknown>;
}

/**
 * The process's logger: JSON lines on standard output, secrets redacted should one ever be handed to it. No more than a
 * Logger: what pino's own children are given would be redacted by nobody.
 * @param destination instead of standard output
 */
export function createLogger(level: string, destination?: { write(line: string): void }): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: redactedFields },
    // Done by then.
    serializers: { [ERROR]: (error: unknown) => error },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

import { type Logger as PinoLogger, pino } from 'pino';

/** Members that may hold a secret, wherever they stand in what is logged. */
const SECRET_MEMBERS = [
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
];

/** The process's logger: JSON lines on standard output, secrets redacted should one ever be handed to it. */
export function createLogger(level: string): PinoLogger {
  return pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: SECRET_MEMBERS.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
      censor: '**********',
    },
  });
}

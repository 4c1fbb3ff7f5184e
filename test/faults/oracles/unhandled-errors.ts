/** O8: unhandled errors of Node, and fatal lines of pino. */
const UNHANDLED =
  /unhandledRejection|uncaughtException|ERR_UNHANDLED|"level":"fatal"|^\s+at .+:\d+:\d+\)?$|MaxListenersExceeded/;

/** Lines of a log that report an unhandled error. */
export function unhandledLines(log: string): string[] {
  return log
    .split('\n')
    .filter((line) => UNHANDLED.test(line))
    .map((line) => line.trim());
}

import type { Host } from './command/host.ts';
import { processHost as hostOf, runCommandLine, runProcess } from './command-line.ts';
import { BERTH } from './commands.ts';

/** The command line with every command, as in the image. */

/** The host of this process. */
export const processHost = (words: readonly string[]): Host => hostOf(BERTH, words);

/** Runs a command, and prints a failure to standard error. Returns the exit code: 2 for wrong arguments. */
export const runCli = (words: readonly string[], host: Host = processHost(words)): Promise<number> =>
  runCommandLine(words, host);

/** Runs the command line of this process. */
export const main = (): Promise<void> => runProcess(BERTH);

/**
 * Builds the web console (src/console) into dist/console, which the API serves at /console.
 *
 *   npm run console [-- --help]
 */
import { buildConsole } from './console/build.ts';

const HELP = `usage: npm run console
Builds src/console into dist/console. Ends at once if nothing has changed since the last build. Fails if the files that a
browser needs for the first page are larger than the budget (250 KiB with gzip).`;

if (process.argv.includes('--help')) console.log(HELP);
else {
  try {
    console.log(await buildConsole());
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}

/**
 * Makes sure that this machine has a browser for the tests of the console.
 *
 *   npm run browser:install
 */
import { installChromium } from '../test/cluster/chromium.ts';

const HELP = `usage: npm run browser:install
Finds Chromium by CHROME_PATH or on the PATH. Otherwise downloads Debian's Chromium with its libraries into
~/.cache/berth, without root rights (needs apt-get, apt-cache and dpkg-deb). Prints its path.`;

if (process.argv.includes('--help')) console.log(HELP);
else {
  try {
    console.log((await installChromium()).path);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}

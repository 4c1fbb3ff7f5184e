/** The version of Berth in package.json. */
import { readFileSync } from 'node:fs';

const path = new URL('../../package.json', import.meta.url);

export const { version: VERSION } = JSON.parse(readFileSync(path, 'utf8')) as { version: string };

#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Enables the compile cache of Node, which stores compiled code without types. The next start then takes a third of the
// time. The cache is in the folder of the packages, which other users cannot write, because a writer of the cache
// controls the code that runs. If the folder is not writable, no cache is used.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/berth', import.meta.url)));

// Imported after the cache is enabled, so that the cache contains these modules too.
const { main } = await import('./cli/run.ts');
await main();

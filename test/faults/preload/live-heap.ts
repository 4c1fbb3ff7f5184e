/**
 * Loaded by `node --import` before a role. At each SIGUSR2, the process collects its garbage and writes the number of live
 * bytes to the file FAULTS_LIVE_HEAP with the process id as suffix. Garbage would hide a leak.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const file = `${process.env['FAULTS_LIVE_HEAP'] ?? ''}${process.pid}`;

process.on('SIGUSR2', () => {
  collect();
  // The second collection removes objects that waited for a finalizer.
  setImmediate(() => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    // Renamed, so that a reader never sees an incomplete file.
    writeFileSync(`${file}.new`, String(heapUsed + external));
    renameSync(`${file}.new`, file);
  });
});

/**
 * Loaded by `node --import` before a role: at each SIGUSR2 it collects its garbage and writes how many bytes live after
 * that, to the file FAULTS_LIVE_HEAP with its process id behind it. What was not collected yet hides what is kept.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const file = `${process.env['FAULTS_LIVE_HEAP'] ?? ''}${process.pid}`;

process.on('SIGUSR2', () => {
  collect();
  // What waited for the end of an object is let go by the second collection.
  setImmediate(() => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    // There with its text, or not at all.
    writeFileSync(`${file}.new`, String(heapUsed + external));
    renameSync(`${file}.new`, file);
  });
});

/**
 * Loaded by `node --import` before a role: as a process whose share of the processor is used up, it stands still in the
 * middle of its own code, where SIGSTOP can hardly meet it. When the file FAULTS_STALL is there, it stalls at the next
 * answer that begins with the file's text, as long as FAULTS_STALL.stalled is there. What it does then before its timers
 * run goes out; and it stalls once more, so that others have done their part when they run.
 */
import { existsSync, readFileSync, renameSync } from 'node:fs';

const file = process.env['FAULTS_STALL'] ?? '';
const LOOK_MS = 20;
const ONCE_MORE_MS = 500;
const parse = JSON.parse;
const nobody = new Int32Array(new SharedArrayBuffer(4));

const stall = (ms: number) => Atomics.wait(nobody, 0, 0, ms);

JSON.parse = (text, reviver) => {
  if (existsSync(file) && String(text).startsWith(readFileSync(file, 'utf8'))) {
    const stalled = `${file}.stalled`;
    renameSync(file, stalled);
    while (existsSync(stalled)) stall(LOOK_MS);
    // Requests are sent between the answers that were read and this; timers come afterwards.
    setImmediate(() => stall(ONCE_MORE_MS));
  }
  return parse(text, reviver);
};

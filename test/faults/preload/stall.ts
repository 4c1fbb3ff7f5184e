/**
 * Loaded by `node --import` before a role. Blocks the process in the middle of its own code, like a process without CPU time.
 * SIGSTOP can hardly hit such a point. If the file FAULTS_STALL exists, the process stalls at the next response that begins
 * with the text of the file, for as long as FAULTS_STALL.stalled exists. Requests that it makes then, before its timers
 * fire, are sent. After them it stalls again, so that other processes have done their part when the timers fire.
 */
import { existsSync, readFileSync, renameSync } from 'node:fs';

const file = process.env['FAULTS_STALL'] ?? '';
const POLL_MS = 20;
const SECOND_STALL_MS = 500;
const parse = JSON.parse;
const lock = new Int32Array(new SharedArrayBuffer(4));

const stall = (ms: number) => Atomics.wait(lock, 0, 0, ms);

JSON.parse = (text, reviver) => {
  if (existsSync(file) && String(text).startsWith(readFileSync(file, 'utf8'))) {
    const stalled = `${file}.stalled`;
    renameSync(file, stalled);
    while (existsSync(stalled)) stall(POLL_MS);
    // Requests are sent before this immediate runs. Timers fire after it.
    setImmediate(() => stall(SECOND_STALL_MS));
  }
  return parse(text, reviver);
};

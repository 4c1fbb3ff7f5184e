/**
 * How quick the machine is meanwhile: the processor time of the same computation, twice a second beside what is measured.
 * A virtual machine is not equally quick all day, nor while its other processor is busy; where rounds cannot take turns
 * with a floor, this tells the machine's part of what changed: its processor, and what else fills its caches meanwhile.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Computations, and what they took in all. */
interface Done {
  readonly done: number;
  readonly ms: number;
}

export interface MachineSpeed {
  /**
   * Milliseconds a computation, since the last call or since the start; waits for the first one.
   * @throws Error when the computing has failed
   */
  take(): Promise<number>;
  stop(): Promise<void>;
}

export function watchMachineSpeed(): MachineSpeed {
  const worker = new Worker(new URL('machine-speed-worker.ts', import.meta.url));
  let first: Done | null = null;
  let last: Done | null = null;
  let failure: Error | null = null;
  worker.on('error', (error) => {
    failure = error;
  });
  worker.on('exit', () => {
    failure ??= new Error('failed to tell how quick the machine is: the computing was ended');
  });
  worker.on('message', (told: Done) => {
    first ??= told;
    last = told;
  });
  return {
    async take() {
      while (first === null || last === null || last.done === first.done) {
        if (failure !== null) throw failure;
        const told = new AbortController();
        const { signal } = told;
        await Promise.race([once(worker, 'message', { signal }), once(worker, 'exit', { signal })]).finally(
          // The other one would listen on, one more with each call.
          () => told.abort(),
        );
      }
      const each = (last.ms - first.ms) / (last.done - first.done);
      first = last;
      return each;
    },
    async stop() {
      await worker.terminate();
    },
  };
}

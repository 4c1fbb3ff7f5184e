import { useSyncExternalStore } from 'react';

const STEP_MS = 5_000;

const step = () => Math.floor(Date.now() / STEP_MS) * STEP_MS;

function subscribe(changed: () => void): () => void {
  const timer = setInterval(changed, STEP_MS);
  return () => clearInterval(timer);
}

/** The current time in milliseconds, in steps of five seconds. */
export const useNow = (): number => useSyncExternalStore(subscribe, step);

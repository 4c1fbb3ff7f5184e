import { useSyncExternalStore } from 'react';

const STEP_MS = 5_000;

/** Never before the present, so that nothing new seems to be in the future. */
const step = () => Math.ceil(Date.now() / STEP_MS) * STEP_MS;

function subscribe(changed: () => void): () => void {
  const timer = setInterval(changed, STEP_MS);
  return () => clearInterval(timer);
}

/** The current time in milliseconds, in steps of five seconds. */
export const useNow = (): number => useSyncExternalStore(subscribe, step);

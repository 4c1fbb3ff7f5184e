/** Timing of streams that are read again and again. */

export interface Silence {
  /** Aborts when no line has arrived for the time. */
  readonly signal: AbortSignal;
  /** A line has arrived. */
  readonly alive: () => void;
  /** Ends the wait. */
  readonly stop: () => void;
}

/** @param ms the longest time without a line, from now on */
export function watchSilence(ms: number): Silence {
  const silence = new AbortController();
  const start = () => setTimeout(() => silence.abort(), ms);
  let timer = start();
  return {
    signal: silence.signal,
    alive: () => {
      clearTimeout(timer);
      timer = start();
    },
    stop: () => clearTimeout(timer),
  };
}

/** Resolves after the time, or when the signal aborts. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });

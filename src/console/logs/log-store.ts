import { type LogEntry, type LogLines, NO_LINES, withLines } from './log-lines.ts';

/** What the page shows of a log that is being read. React subscribes to it (useSyncExternalStore). */

export type ReadingState =
  | { readonly kind: 'connecting' | 'reading' | 'interrupted' }
  | { readonly kind: 'ended'; readonly message: string }
  | { readonly kind: 'failed'; readonly error: Error };

export interface LogSnapshot {
  readonly lines: LogLines;
  readonly state: ReadingState;
}

/** Lines that arrive within this time are shown together. */
const GATHER_MS = 100;
/** Browsers slow timers of hidden pages down, so many lines do not wait for the timer. */
const MAX_WAITING = 1_000;

export interface LogStore {
  readonly snapshot: () => LogSnapshot;
  /** Returns a function that ends the subscription. */
  readonly subscribe: (changed: () => void) => () => void;
  readonly add: (entries: readonly LogEntry[]) => void;
  readonly setState: (state: ReadingState) => void;
}

export function createLogStore(): LogStore {
  let shown: LogSnapshot = { lines: NO_LINES, state: { kind: 'connecting' } };
  let waiting: LogEntry[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listeners = new Set<() => void>();
  const show = (next: LogSnapshot) => {
    shown = next;
    for (const listener of listeners) listener();
  };
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return shown.lines;
    const lines = withLines(shown.lines, waiting);
    waiting = [];
    return lines;
  };
  return {
    snapshot: () => shown,
    subscribe(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    add(entries) {
      for (const entry of entries) waiting.push(entry);
      if (waiting.length >= MAX_WAITING) show({ ...shown, lines: flush() });
      else timer ??= setTimeout(() => show({ ...shown, lines: flush() }), GATHER_MS);
    },
    setState: (state) => show({ lines: flush(), state }),
  };
}

import type { BuildLogLine, LogLine } from '../api/types.ts';
import { stringifySearch } from '../app/search.ts';
import type { LogEntry } from './log-lines.ts';

/** Where a log that ended early continues, as the command line does it: no line is missing, and none appears twice. */

export interface LogPosition {
  /** Parameters of the next request. */
  readonly query: () => { readonly since?: string; readonly offset?: string };
  /** Called before each request. */
  readonly begin: () => void;
  /** The line as it is shown; null: it was shown before. */
  readonly take: (line: unknown) => LogEntry | null;
}

const isLine = (line: unknown): line is { readonly at: string; readonly text: string } =>
  typeof line === 'object' && line !== null && 'text' in line && typeof line.text === 'string';

/** Pods: lines of several containers are interleaved. The next request starts at the time of the container that is furthest behind. */
export function podPosition(): LogPosition {
  const last = new Map<string, string>();
  let from = new Map<string, string>();
  return {
    begin() {
      from = new Map(last);
    },
    query() {
      const [since] = [...last.values()].sort();
      return since === undefined ? {} : { since };
    },
    take(line) {
      if (!isLine(line)) return null;
      const { at, pod, container, component, text } = line as LogLine;
      const key = `${pod}/${container}`;
      if (at <= (from.get(key) ?? '')) return null;
      last.set(key, at);
      return { at, container, text, origin: [component, pod, container] };
    },
  };
}

/** A build: its lines are stored, and counted. */
export function buildPosition(): LogPosition {
  let read = 0;
  return {
    begin: () => undefined,
    query: () => (read === 0 ? {} : { offset: String(read) }),
    take(line) {
      if (!isLine(line)) return null;
      read += 1;
      const { at, attempt, step, text } = line as BuildLogLine;
      return { at, container: null, text, origin: attempt === 1 ? [step] : [step, `attempt ${attempt}`] };
    },
  };
}

/** A path with more parameters. */
export function withQuery(path: string, query: object): string {
  const more = stringifySearch(query);
  return path.includes('?') && more !== '' ? `${path}&${more.slice(1)}` : `${path}${more}`;
}

import type { ReportedFailure } from '../conditions/failure-source.ts';
import type { ClusterReport } from '../deployment/cluster-report.ts';
import { PatternAutomaton } from './pattern-automaton.ts';

/**
 * Masks the values of a deployment's secrets in texts of its cluster. A container may print its whole environment when
 * it ends, and keys that may not see secrets can read reports and logs.
 */

/** Shorter values are not masked, because they occur in any text. */
const SHORTEST = 6;
/** Shorter lines of a value with several lines are not masked. */
const SHORTEST_LINE = 16;
const MASK = '***';
/** Marks the end at which a text was cut. */
const CUT = '…';
/** Maximum number of characters in all patterns. It bounds the memory (18 bytes each) and the time to prepare a search. */
export const MAX_PATTERN_CHARACTERS = 131_072;

/** A value as programs print it: unchanged, line by line, within JSON, within a URL. */
function printedForms(value: string): string[] {
  if (value.length < SHORTEST) return [];
  const lines = value
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  // A single line with line breaks or blanks around it is the whole value, so it may be shorter.
  const shortest = lines.length > 1 ? SHORTEST_LINE : SHORTEST;
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value.toWellFormed()),
    ...lines.filter((line) => line.length >= shortest),
  ];
}

/** All forms in which programs print these values. */
export const patternsOf = (values: readonly string[]): string[] => [...new Set(values.flatMap(printedForms))];

/**
 * Masks every occurrence of the patterns in a text, and also a part of a pattern (6 characters or more) at an end at
 * which the text was cut.
 * @returns null when the patterns are too long together, so that texts must be withheld
 */
export function masker(patterns: readonly string[]): ((text: string) => string) | null {
  if (patterns.length === 0) return (text) => text;
  if (patterns.reduce((sum, { length }) => sum + length, 0) > MAX_PATTERN_CHARACTERS) return null;
  const automaton = new PatternAutomaton(patterns);
  let windows: ReadonlySet<string> | null = null;
  return (text) => {
    const spans = new Spans();
    if (text.startsWith(CUT)) {
      windows ??= windowsOf(patterns);
      spans.add(CUT.length, endOfPart(text, windows));
    }
    const end = text.endsWith(CUT) ? text.length - CUT.length : -1;
    let state = 0;
    for (let index = 0; index < text.length; index += 1) {
      state = automaton.next(state, text.charCodeAt(index));
      const length = automaton.longestMatch(state);
      if (length > 0) spans.add(index + 1 - length, index + 1);
      // The text was cut here: what it ends with may be the beginning of a pattern.
      if (index + 1 === end && automaton.depth(state) >= SHORTEST)
        spans.add(end - automaton.depth(state), end);
    }
    return spans.maskIn(text);
  };
}

/** Every sequence of 6 characters in the patterns. */
function windowsOf(patterns: readonly string[]): Set<string> {
  const windows = new Set<string>();
  for (const pattern of patterns)
    for (let from = 0; from + SHORTEST <= pattern.length; from += 1)
      windows.add(pattern.slice(from, from + SHORTEST));
  return windows;
}

/**
 * Where the part of a pattern ends with which a text begins after its cut. A remainder that is too short to be compared
 * counts as a part.
 */
function endOfPart(text: string, windows: ReadonlySet<string>): number {
  const end = text.endsWith(CUT) ? text.length - CUT.length : text.length;
  if (end - CUT.length < SHORTEST) return Math.max(end, CUT.length);
  let from = CUT.length;
  while (windows.has(text.slice(from, from + SHORTEST))) from += 1;
  return from === CUT.length ? from : from - 1 + SHORTEST;
}

/** Parts of a text to mask, without overlaps and in order. */
class Spans {
  readonly #spans: { from: number; to: number }[] = [];

  /** Adds a part that ends after most parts before it. Parts that overlap or touch become one. */
  add(from: number, to: number): void {
    if (from >= to) return;
    const span = { from, to };
    for (
      let last = this.#spans.at(-1);
      last !== undefined && last.to >= span.from;
      last = this.#spans.at(-1)
    ) {
      span.from = Math.min(span.from, last.from);
      span.to = Math.max(span.to, last.to);
      this.#spans.pop();
    }
    this.#spans.push(span);
  }

  maskIn(text: string): string {
    let masked = '';
    let done = 0;
    for (const { from, to } of this.#spans) {
      masked += text.slice(done, from) + MASK;
      done = to;
    }
    return masked + text.slice(done);
  }
}

/** Whether a report may contain a text of a container or of the cluster about a failure. A Ready report has no such text. */
export function describesFailure(report: ClusterReport): boolean {
  if (report.kind === 'refused') return true;
  if (report.kind !== 'observed') return false;
  return (
    report.failed !== null ||
    report.inPlaceFailure !== null ||
    (report.symptoms ?? []).length > 0 ||
    report.build?.phase === 'Failed' ||
    !report.conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  );
}

/** The report with `masked` applied to all its free texts. */
export function withTexts(report: ClusterReport, masked: (text: string) => string): ClusterReport {
  if (report.kind === 'refused') return { ...report, message: masked(report.message) };
  if (report.kind !== 'observed') return report;
  const { conditions, failed, inPlaceFailure, symptoms, build } = report;
  return {
    ...report,
    conditions: conditions.map((condition) => ({ ...condition, message: masked(condition.message) })),
    failed: failed && maskedFailure(failed, masked),
    inPlaceFailure: inPlaceFailure && maskedFailure(inPlaceFailure, masked),
    ...(symptoms === undefined
      ? {}
      : { symptoms: symptoms.map((symptom) => maskedFailure(symptom, masked)) }),
    ...(build?.message === undefined ? {} : { build: { ...build, message: masked(build.message) } }),
  };
}

function maskedFailure<Failure extends ReportedFailure>(
  failure: Failure,
  masked: (text: string) => string,
): Failure {
  const { message, failureSource } = failure;
  return {
    ...failure,
    message: masked(message),
    ...(failureSource?.detail === undefined
      ? {}
      : { failureSource: { ...failureSource, detail: masked(failureSource.detail) } }),
  };
}

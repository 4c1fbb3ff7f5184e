import type { ObservedDomain } from '../app-hosts/domain-status.ts';
import type { ReportedFailure } from '../conditions/failure-source.ts';
import type { ClusterReport } from '../deployment/cluster-report.ts';
import { PatternAutomaton } from './pattern-automaton.ts';
import { PatternWindows } from './pattern-windows.ts';

/**
 * Masks the values of a deployment's secrets in texts of its cluster. A container may print its whole environment when
 * it ends, and keys that may not see secrets can read reports and logs.
 */

/** Shorter values are not masked, because they occur in any text. */
const SHORTEST = 6;
/** Shorter lines of a value with several lines are not masked. */
const SHORTEST_LINE = 16;
const MASK = '***';
/** Marks where a text was cut. Another text can surround a cut text. */
const CUT = '…';
/** Maximum number of characters in all patterns. It bounds the memory (22 bytes each) and the time to prepare a search. */
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
 * Masks every occurrence of the patterns in a text, and also a part of a pattern (6 characters or more) at a place where
 * the text was cut. The search is prepared when a text needs it.
 * @returns null when the patterns are too long together, so that texts must be withheld
 */
export function masker(patterns: readonly string[]): ((text: string) => string) | null {
  const lengths = patterns.map(({ length }) => length);
  if (lengths.reduce((sum, length) => sum + length, 0) > MAX_PATTERN_CHARACTERS) return null;
  const shortest = lengths.reduce((least, length) => Math.min(least, length), Number.POSITIVE_INFINITY);
  let automaton: PatternAutomaton | undefined;
  let windows: PatternWindows | undefined;
  return (text) => {
    const isCut = text.includes(CUT);
    if (patterns.length === 0 || (text.length < shortest && !isCut)) return text;
    automaton ??= new PatternAutomaton(patterns);
    if (isCut) windows ??= new PatternWindows(patterns, SHORTEST);
    return spansOf(text, automaton, windows).maskIn(text);
  };
}

/** The parts of a text to mask. @param windows defined when the text contains a cut */
function spansOf(text: string, automaton: PatternAutomaton, windows: PatternWindows | undefined): Spans {
  const spans = new Spans();
  spans.add(CUT.length, endOfShortRemainder(text));
  let state = 0;
  let endOfRun = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (windows !== undefined && text[index] === CUT) {
      // What the text before the cut ends with may be the beginning of a pattern.
      const depth = automaton.depth(state);
      if (depth >= SHORTEST) spans.add(index - depth, index);
      // What follows the cut may be the rest of a pattern. A cut within a run has the same end of the run.
      const from = index + CUT.length;
      if (from > endOfRun) {
        endOfRun = windows.endOfRun(text, from);
        if (endOfRun > from) spans.add(from, endOfRun - 1 + SHORTEST);
      }
    }
    state = automaton.next(state, text.charCodeAt(index));
    const length = automaton.longestMatch(state);
    if (length > 0) spans.add(index + 1 - length, index + 1);
  }
  return spans;
}

/** Where a text ends that is cut at its beginning and too short to be compared. 0: the text is not such a text. */
function endOfShortRemainder(text: string): number {
  const end = text.endsWith(CUT) ? text.length - CUT.length : text.length;
  return text.startsWith(CUT) && end - CUT.length < SHORTEST ? end : 0;
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
    (report.domains?.hosts ?? []).some(({ message }) => message !== undefined) ||
    report.build?.phase === 'Failed' ||
    !report.conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  );
}

/** The report with `masked` applied to all its free texts. */
export function withTexts(report: ClusterReport, masked: (text: string) => string): ClusterReport {
  if (report.kind === 'refused') return { ...report, message: masked(report.message) };
  if (report.kind !== 'observed') return report;
  const { conditions, failed, inPlaceFailure, symptoms, build, domains } = report;
  return {
    ...report,
    conditions: conditions.map((condition) => ({ ...condition, message: masked(condition.message) })),
    failed: failed && maskedFailure(failed, masked),
    inPlaceFailure: inPlaceFailure && maskedFailure(inPlaceFailure, masked),
    ...(symptoms === undefined
      ? {}
      : { symptoms: symptoms.map((symptom) => maskedFailure(symptom, masked)) }),
    ...(build?.message === undefined ? {} : { build: { ...build, message: masked(build.message) } }),
    ...(domains == null
      ? {}
      : { domains: { ...domains, hosts: domains.hosts.map((host) => maskedDomain(host, masked)) } }),
  };
}

function maskedDomain(domain: ObservedDomain, masked: (text: string) => string): ObservedDomain {
  return domain.message === undefined ? domain : { ...domain, message: masked(domain.message) };
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

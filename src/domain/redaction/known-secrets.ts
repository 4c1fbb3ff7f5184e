import type { ReportedFailure } from '../conditions/failure-source.ts';
import type { ClusterReport } from '../deployment/cluster-report.ts';
import { CUT, FormIndex, MOST_PLACES, SHORTEST, Steps } from './form-index.ts';

/**
 * The values of a deployment's secrets, taken out of what its cluster tells. A container may print its whole
 * environment when it ends, and a report is shown to keys that may not see secrets.
 */

/** A shorter line of a value of several lines may stand in any text (`-----END …-----` is none of those). */
const SHORTEST_LINE = 16;
const MASK = '***';
/** Of forms that have more characters together, those of many large secrets, no index is made: it would take the memory. */
const MOST_CHARACTERS = 2_000_000;
/** So few forms, of so few characters, as most deployments have: to look for each of them costs less than an index. */
const FEW = 24;
const FEW_CHARACTERS = 4096;
/** So many characters of a text are replaced in about the time of one step of a search. */
const CHARACTERS_A_STEP = 16;

/** A value as programs print it: as it is, line by line, within JSON, within a URL. */
function printed(value: string): string[] {
  if (value.length < SHORTEST) return [];
  const lines = value
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  // One line with line ends or blanks around it is the whole value to whoever prints it.
  const shortest = lines.length > 1 ? SHORTEST_LINE : SHORTEST;
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value.toWellFormed()),
    ...lines.filter((line) => line.length >= shortest),
  ];
}

/** All forms of the values, longest first: one may be part of another. */
export function formsOf(values: readonly string[]): string[] {
  return [...new Set(values.flatMap(printed))].sort((a, b) => b.length - a.length);
}

function* placesOf(form: string, probe: string): Generator<number> {
  let at = form.indexOf(probe);
  for (let tried = 0; at >= 0 && tried < MOST_PLACES; tried += 1, at = form.indexOf(probe, at + 1)) yield at;
}

/** Without the rest of a form with which a text begins after its cut, or the part of it that is all between two cuts. */
function withoutRest(text: string, form: string): string {
  if (!text.startsWith(CUT)) return text;
  const kept = text.slice(CUT.length);
  const within = kept.endsWith(CUT) ? kept.slice(0, -CUT.length) : null;
  for (const at of placesOf(form, kept.slice(0, SHORTEST))) {
    const rest = form.slice(at);
    if (kept.startsWith(rest)) return `${CUT}${MASK}${kept.slice(rest.length)}`;
    if (rest.startsWith(kept)) return `${CUT}${MASK}`;
    if (within !== null && rest.startsWith(within)) return `${CUT}${MASK}${CUT}`;
  }
  return text;
}

/** Without the beginning of a form with which a text ends before its cut. */
function withoutBeginning(text: string, form: string): string {
  if (!text.endsWith(CUT)) return text;
  const kept = text.slice(0, -CUT.length);
  for (const at of placesOf(form, kept.slice(-SHORTEST))) {
    const beginning = form.slice(0, at + SHORTEST);
    if (kept.endsWith(beginning)) return `${kept.slice(0, -beginning.length)}${MASK}${CUT}`;
  }
  return text;
}

/** `text` with the form masked, one that was cut at an end of the text included. */
const withoutForm = (text: string, form: string): string =>
  withoutBeginning(withoutRest(text.replaceAll(form, MASK), form), form);

/**
 * Masks the forms in texts, one after the other; those that a text does not hold cost nothing. null: the text and the
 * forms need more work than is done for one text, or are too many, so it is not known whether it holds one.
 * @param few forms up to which no index is made
 */
export function masker(forms: readonly string[], few = FEW): (text: string) => string | null {
  const index = lazily(() => new FormIndex(forms));
  // Only of these a mask may be a part.
  const arise = forms.some((form) => form.includes('*'));
  if (forms.length === 0) return (text) => text;
  const size = forms.reduce((sum, { length }) => sum + length, 0);
  if (forms.length <= few && size <= FEW_CHARACTERS) return (text) => forms.reduce(withoutForm, text);
  if (size > MOST_CHARACTERS) return () => null;
  return (text) => withoutForms(text, forms, index(), arise);
}

function withoutForms(
  text: string,
  forms: readonly string[],
  index: FormIndex,
  arise: boolean,
): string | null {
  const steps = new Steps(text);
  let rest = text;
  let held = index.heldBy(rest, steps);
  let place = 0;
  for (let from = 0; ; ) {
    if (index.holdsAny(rest)) return `${CUT}${MASK}`;
    while ((held[place] ?? from) < from) place += 1;
    const number = Math.min(
      held[place] ?? forms.length,
      index.withRest(rest, from, steps),
      index.withBeginning(rest, from, steps),
    );
    if (steps.areOver) return null;
    const form = forms[number];
    if (form === undefined) return rest;
    from = number + 1;
    steps.take(1 + rest.length / CHARACTERS_A_STEP);
    const before = rest;
    rest = withoutForm(rest, form);
    if (arise && rest !== before) {
      held = index.heldBy(rest, steps);
      place = 0;
    }
  }
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Whether a report may hold what a container or the cluster said of a failure. What is Ready has nothing to say. */
export function tellsOfFailure(report: ClusterReport): boolean {
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

/** The report with all its free texts passed through `masked`. */
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

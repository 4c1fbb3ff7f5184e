import { CHECKS, type CheckOutcome, type Finding } from './finding.ts';

/** How findings are printed. */

const WORDS: Readonly<Record<CheckOutcome, string>> = {
  ok: 'ok',
  warning: 'warning',
  failed: 'FAILED',
  skipped: 'skipped',
};

/** Whether no check failed. */
export function isHealthy(findings: readonly Finding[]): boolean {
  return findings.every(({ outcome }) => outcome !== 'failed');
}

const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** One line per finding, with its remedy below, and a summary. */
export function asText(findings: readonly Finding[]): string {
  const width = Math.max(...Object.values(CHECKS).map((name) => name.length));
  const lines = findings.map(({ check, outcome, message, next }) => {
    const line = `${WORDS[outcome].padEnd(8)} ${CHECKS[check].padEnd(width)}  ${message}`;
    return next === undefined ? line : `${line}\n${' '.repeat(width + 11)}next: ${next}`;
  });
  const count = (outcome: CheckOutcome) => findings.filter((finding) => finding.outcome === outcome).length;
  const sum = isHealthy(findings)
    ? `No check failed, ${plural(count('warning'), 'warning')}.`
    : `${count('failed')} failed, ${plural(count('warning'), 'warning')}, ${count('skipped')} not checked.`;
  return [...lines, '', sum].join('\n');
}

/** Output for programs. */
export function report(findings: readonly Finding[]): { ok: boolean; findings: readonly Finding[] } {
  return { ok: isHealthy(findings), findings };
}

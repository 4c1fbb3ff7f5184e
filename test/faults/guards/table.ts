/** The table of guards in docs/reliability.md, and the line above it that counts. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { GUARD_RULES, type Guard } from './guards.ts';
import type { GuardVerdict } from './run-guards.ts';

/** Which Berth the guards were taken out of, and when. */
export interface GuardsMade {
  /** As `2026-10-05`. */
  readonly day: string;
  /** Undefined: the checkout is none of git's. */
  readonly commit: string | undefined;
}

const PAGE = fileURLToPath(new URL('../../../docs/reliability.md', import.meta.url));
const BEGIN = '<!-- guards: written by npm run faults -- --guards --write -->';
const END = '<!-- end of guards -->';
const HEAD = ['| guard | rule | what it is for | without it breaks |', '| --- | --- | --- | --- |'];

/** Ids, addresses and whole records say nothing to a reader. */
const SHOWN = 160;
const cell = (text: string) =>
  (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text).replaceAll('|', '\\|').replaceAll('\n', ' ');

const rowBegin = ({ name }: Guard) => `| \`${name}\` |`;

function row(guard: Guard, seen: string): string {
  return `${rowBegin(guard)} ${GUARD_RULES[guard.rule]} | ${guard.says} | ${seen} |`;
}

const NOTHING = '**nothing**';
const NOT_TRIED = 'not tried yet';

function seenBy({ missed, plan, oracle, message }: GuardVerdict): string {
  return missed ? `\`${plan}\`, ${oracle}: ${cell(message)}` : `${NOTHING}: ${cell(message)}`;
}

/** What an earlier run has seen. */
function seenBefore(guard: Guard, lines: readonly string[]): string {
  const before = lines.find((line) => line.startsWith(rowBegin(guard)));
  return (
    before
      ?.slice(0, -2)
      .split(/(?<!\\) \| /)
      .slice(3)
      .join(' | ') ?? NOT_TRIED
  );
}

/** From when the newest row is: rows of several runs stand in one table. */
const newest = ({ day, commit }: GuardsMade) =>
  `the newest row is of ${day}${commit === undefined ? '' : `, commit ${commit}`}`;
const NEWEST = /^guards: .*?; (the newest row is of .*)\.$/;

/** @param since from when the newest row is; undefined: nobody knows */
function countLine(seen: readonly string[], since: string | undefined): string {
  const notTried = seen.filter((what) => what === NOT_TRIED).length;
  const notMissed = seen.filter((what) => what.startsWith(NOTHING)).length;
  const missed = seen.length - notMissed - notTried;
  return [
    `guards: ${seen.length}, missed: ${missed}, not missed: ${notMissed}`,
    ...(notTried === 0 ? [] : [`, not tried yet: ${notTried}`]),
    ...(since === undefined ? [] : [`; ${since}`]),
    '.',
  ].join('');
}

/**
 * Rows of guards that were not part of this run keep what was seen of them.
 *
 * @param before what stands on the page
 */
export function guardLines(
  guards: readonly Guard[],
  verdicts: readonly GuardVerdict[],
  before: readonly string[],
  made: GuardsMade,
): string[] {
  const seen = guards.map((guard) => {
    const verdict = verdicts.find(({ guard: name }) => name === guard.name);
    return verdict === undefined ? seenBefore(guard, before) : seenBy(verdict);
  });
  const told = before.flatMap((line) => NEWEST.exec(line)?.[1] ?? []);
  const since = verdicts.length > 0 ? newest(made) : told[0];
  return [countLine(seen, since), '', ...HEAD, ...guards.map((guard, nr) => row(guard, seen[nr] ?? ''))];
}

export function writeGuards(
  guards: readonly Guard[],
  verdicts: readonly GuardVerdict[],
  made: GuardsMade,
): void {
  const page = readFileSync(PAGE, 'utf8');
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin === -1 || end < begin)
    throw new Error(`failed to write the guards: ${PAGE} has no place for them`);
  const lines = guardLines(guards, verdicts, page.slice(begin, end).split('\n'), made);
  writeFileSync(PAGE, `${page.slice(0, begin)}${[BEGIN, ...lines, ''].join('\n')}${page.slice(end)}`);
}

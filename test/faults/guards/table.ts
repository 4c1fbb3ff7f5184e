/** The table of guards in docs/reliability.md, with a count above it. */
import { shorten, writeSection } from '../report-page.ts';
import { GUARD_RULES, type Guard } from './guards.ts';
import type { GuardVerdict } from './run-guards.ts';

/** The run that wrote the newest rows. */
export interface GuardsRun {
  /** The date, such as `2026-10-05`. */
  readonly day: string;
  /** Undefined if the checkout is not a git repository. */
  readonly commit: string | undefined;
}

const SECTION = {
  begin: '<!-- guards: written by npm run faults -- --guards --write -->',
  end: '<!-- end of guards -->',
};
const HEAD = ['| guard | rule | what it is for | without it breaks |', '| --- | --- | --- | --- |'];
const SHOWN = 160;
const NOTHING = '**nothing**';
const NOT_TRIED = 'not tried yet';
const NEWEST = /^guards: .*?; (the newest row is of .*)\.$/;

const rowBegin = ({ name }: Guard) => `| \`${name}\` |`;

function cellOf({ missed, plan, oracle, message }: GuardVerdict): string {
  const text = shorten(message, SHOWN).replaceAll('|', '\\|');
  return missed ? `\`${plan}\`, ${oracle}: ${text}` : `${NOTHING}: ${text}`;
}

/** The last cell of the guard's row; a cell may contain `\|`. */
function cellBefore(guard: Guard, lines: readonly string[]): string {
  const row = lines.find((line) => line.startsWith(rowBegin(guard)));
  const cells = row?.slice(0, -2).split(/(?<!\\) \| /);
  return cells?.slice(3).join(' | ') ?? NOT_TRIED;
}

/** All lines of the section. A guard without a verdict in this run keeps its row. */
export function guardLines(
  guards: readonly Guard[],
  verdicts: readonly GuardVerdict[],
  before: readonly string[],
  { day, commit }: GuardsRun,
): string[] {
  const cells = guards.map((guard) => {
    const verdict = verdicts.find(({ guard: name }) => name === guard.name);
    return verdict === undefined ? cellBefore(guard, before) : cellOf(verdict);
  });
  const notTried = cells.filter((cell) => cell === NOT_TRIED).length;
  const notMissed = cells.filter((cell) => cell.startsWith(NOTHING)).length;
  const newest =
    verdicts.length > 0
      ? `the newest row is of ${day}${commit === undefined ? '' : `, commit ${commit}`}`
      : before.flatMap((line) => NEWEST.exec(line)?.[1] ?? [])[0];
  const missed = guards.length - notMissed - notTried;
  return [
    [
      `guards: ${guards.length}, missed: ${missed}, not missed: ${notMissed}`,
      ...(notTried === 0 ? [] : [`, not tried yet: ${notTried}`]),
      ...(newest === undefined ? [] : [`; ${newest}`]),
      '.',
    ].join(''),
    '',
    ...HEAD,
    ...guards.map(
      (guard, index) =>
        `${rowBegin(guard)} ${GUARD_RULES[guard.rule]} | ${guard.says} | ${cells[index] ?? NOT_TRIED} |`,
    ),
  ];
}

/** Writes the table into docs/reliability.md. */
export function writeGuards(
  guards: readonly Guard[],
  verdicts: readonly GuardVerdict[],
  run: GuardsRun,
): void {
  writeSection(SECTION, (before) => guardLines(guards, verdicts, before, run));
}

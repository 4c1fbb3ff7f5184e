/** The table of guards in docs/reliability.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { GUARD_RULES, type Guard } from './guard.ts';
import type { GuardVerdict } from './run-guards.ts';

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

function seenBy({ missed, plan, oracle, message }: GuardVerdict): string {
  return missed ? `\`${plan}\`, ${oracle}: ${cell(message)}` : `**nothing**: ${cell(message)}`;
}

/** What an earlier run has seen. */
function seenBefore(guard: Guard, lines: readonly string[]): string {
  const before = lines.find((line) => line.startsWith(rowBegin(guard)));
  return (
    before
      ?.slice(0, -2)
      .split(/(?<!\\) \| /)
      .slice(3)
      .join(' | ') ?? 'not tried yet'
  );
}

/** Rows of guards that were not part of this run keep what was seen of them. */
export function writeGuards(guards: readonly Guard[], verdicts: readonly GuardVerdict[]): void {
  const page = readFileSync(PAGE, 'utf8');
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin === -1 || end < begin)
    throw new Error(`failed to write the guards: ${PAGE} has no place for them`);
  const lines = page.slice(begin, end).split('\n');
  const rows = guards.map((guard) => {
    const verdict = verdicts.find(({ guard: name }) => name === guard.name);
    return row(guard, verdict === undefined ? seenBefore(guard, lines) : seenBy(verdict));
  });
  writeFileSync(PAGE, `${page.slice(0, begin)}${[BEGIN, ...HEAD, ...rows, ''].join('\n')}${page.slice(end)}`);
}

/** The command line of `npm run bench`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export const HELP = `usage: npm run bench -- [NAME …] [--n N] [--runs R] [--json] [--write [--force]] [--profile D]
       npm run bench -- compare CHECKOUT_A CHECKOUT_B [NAME …] [--n N] [--runs R] [--json] [--profile D]
       npm run bench -- --list

Measures Berth, beside its floor where there is one, in rounds that take turns. NAME: a bench, or, where none has exactly
that name, the beginning of the names of several; default: all. Use a machine that does nothing else.
--n N       how much there is of what the bench counts (requests, rows, deployments), instead of the bench's own
--runs R    rounds of each side, instead of the bench's own (of compare: at least four); one whose start is what it measures
            has one. api-get, api-list and api-post restart both sides every few rounds, so that no process's luck decides: more
            rounds, more starts
--json      results as JSON on standard output, instead of tables; progress, and what --profile tells, is on standard error
            in any case. npm adds lines of its own to the output, unless it runs as npm run --silent bench -- …
--write     puts the results into docs/benchmarks.md, its JSON and its plots, each bench as it ends; benches that were
            not run stay as they are. Not of fewer than goals are judged from, nor of fewer rounds than are written there.
            Before each, up to four minutes are waited for the machine to be idle
--force     with --write: writes those, too
--profile D one start, and Berth and the API's floor run with node --cpu-prof: profiles go to the folder D (an empty one: all that are
            in it are told), named by what the process is, of two checkouts to its folders A and B. What costs most is
            told, with the statements that took PostgreSQL longest (unless DATABASE_URL names one)
--list      the benches: n without --n, from which --n on the goals are judged, and what is measured
compare     the same bench with Berth from two folders in turn, B held against A; each needs its node_modules. Not those
            whose start is what they measure. The same folder twice tells how far two processes of it differ.
            The benches are those of the checkout that this runs in
A round that fails ends its bench, and not the others; those before it are kept. The exit code is 0 when everything could be
measured, whatever came out.`;

function positive(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number above 0`);
  return value;
}

export interface Asked {
  readonly names: readonly string[];
  /** Two checkouts to compare; null: this one beside its floors. */
  readonly checkouts: readonly [string, string] | null;
  readonly n: number | null;
  readonly runs: number | null;
  readonly json: boolean;
  readonly write: boolean;
  /** Also what is less than what is written there. */
  readonly force: boolean;
  /** Folder for CPU profiles; null: none are made. */
  readonly profile: string | null;
  readonly list: boolean;
  readonly help: boolean;
}

export function readArguments(args: readonly string[]): Asked {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      n: { type: 'string' },
      runs: { type: 'string' },
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      force: { type: 'boolean', default: false },
      profile: { type: 'string' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const compares = positionals[0] === 'compare';
  const [, a, b] = positionals;
  if (compares && (a === undefined || b === undefined)) throw new Error('compare takes two checkouts');
  if (compares && values.write) throw new Error('--write is for the measures of one checkout');
  if (values.profile !== undefined && values.write)
    throw new Error('--write is not for what runs with profiles, which are work themselves');
  return {
    ...values,
    names: compares ? positionals.slice(3) : positionals,
    checkouts: compares ? [resolve(a ?? ''), resolve(b ?? '')] : null,
    profile: values.profile === undefined ? null : resolve(values.profile),
    n: positive('n', values.n),
    runs: positive('runs', values.runs),
  };
}

/**
 * Without `--` npm takes options for its own, and hands on their values at most: a bench would run with other numbers than
 * were asked for. (`--n` is short for one of npm's own, and leaves its number alone.)
 * @throws Error that says so
 */
export function assertNotTakenByNpm({ names }: Pick<Asked, 'names'>, environment: NodeJS.ProcessEnv): void {
  const taken = ['runs', 'json', 'write', 'profile', 'list'].filter(
    (name) => environment[`npm_config_${name}`] !== undefined,
  );
  const left = names.filter((name) => /^\d+$/.test(name));
  if (taken.length > 0 || left.length > 0)
    throw new Error(
      `npm has taken options for its own (${[...taken.map((name) => `--${name}`), ...left].join(', ')}); next: put -- before all options, npm run bench -- …`,
    );
}

/** Of an unknown option Node says more than helps. */
export function messageOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  const message = error instanceof Error ? error.message : String(error);
  return code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? `${message.split('. ')[0]}; see --help` : message;
}

/** The command line of `npm run bench`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export const HELP = `usage: npm run bench -- [NAME …] [--n N] [--runs R] [--json] [--write [--force]] [--profile D]
       npm run bench -- compare CHECKOUT_A CHECKOUT_B [NAME …] [--n N] [--runs R] [--json] [--profile D]
       npm run bench -- --list

Measures Berth and, where there is one, its floor in alternating rounds. NAME is a bench, or the beginning of the names of
several benches. Default: all. Use a machine that does nothing else.
--n N       the number of requests, rows or deployments that the bench counts, instead of its default
--runs R    rounds of each side, instead of the default of the bench (for compare: at least four). growth has one round.
            api-get, api-list and api-post start both sides again after some rounds
--json      prints results as JSON on standard output instead of tables. Progress is on standard error.
            npm adds its own lines unless it runs as npm run --silent bench -- …
--write     stores each result in test/bench/results.json and updates the table in docs/performance.md. The results of
            other benches stay. Refused for a smaller size than the goals need, and for fewer rounds than are stored.
            Waits up to four minutes before each bench until the machine is idle
--force     with --write: stores the result in these cases too
--profile D runs Berth and the floor of the API with node --cpu-prof, with one start. D is an empty folder. Two checkouts
            use its folders A and B. Prints what costs most, and the statements that took PostgreSQL longest
            (unless DATABASE_URL names a server)
--list      prints the benches: the default of n, the n from which the goals are judged, and what is measured
compare     runs a bench with Berth from two folders in turn and compares B with A. Each folder needs its node_modules.
            Not for growth. The same folder twice shows how much two processes of one version differ. The benches are
            those of the checkout that runs the command
A round that fails ends its bench, but not the others. Earlier rounds count. The exit code is 0 if everything was
measured, whether or not goals are reached.`;

function positive(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number above 0`);
  return value;
}

/** The parsed command line. */
export interface Asked {
  readonly names: readonly string[];
  /** Two checkouts to compare. null: this checkout is compared with its floors. */
  readonly checkouts: readonly [string, string] | null;
  readonly n: number | null;
  readonly runs: number | null;
  readonly json: boolean;
  readonly write: boolean;
  /** Whether a smaller result may replace the stored one. */
  readonly force: boolean;
  /** Folder for CPU profiles. null: no profiles. */
  readonly profile: string | null;
  readonly list: boolean;
  readonly help: boolean;
}

/** @throws Error for unknown options and invalid combinations */
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
  if (compares && values.write) throw new Error('--write cannot be used with compare');
  if (values.profile !== undefined && values.write)
    throw new Error('--write cannot be used with --profile, because profiling takes time');
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
 * Without `--`, npm takes options for itself and passes at most their values, so a bench would run with other numbers than
 * requested. (`--n` is an abbreviation of an npm option, and its value is passed.)
 * @throws Error that explains this
 */
export function assertNotTakenByNpm({ names }: Pick<Asked, 'names'>, environment: NodeJS.ProcessEnv): void {
  const taken = ['runs', 'json', 'write', 'profile', 'list'].filter(
    (name) => environment[`npm_config_${name}`] !== undefined,
  );
  const left = names.filter((name) => /^\d+$/.test(name));
  if (taken.length > 0 || left.length > 0)
    throw new Error(
      `npm has taken options for itself (${[...taken.map((name) => `--${name}`), ...left].join(', ')}); next: put -- before all options, npm run bench -- …`,
    );
}

/** The message of an error. That of an unknown option is shortened. */
export function messageOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  const message = error instanceof Error ? error.message : String(error);
  return code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? `${message.split('. ')[0]}; see --help` : message;
}

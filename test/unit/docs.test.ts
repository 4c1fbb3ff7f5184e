/** README.md and docs/: which test runs each block of commands, and whether the things that the pages name exist. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MODULES } from '../../scripts/check-imports.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { processHost } from '../../src/cli/run.ts';
import { SETTINGS } from '../../src/config/index.ts';
import { allShellBlocks, pages, root, shellBlocks, textOf } from '../docs/pages.ts';

/** Requirements that a test on one machine does not meet. */
const NEEDS = [
  'a cluster',
  'a database',
  'a login',
  'a pipeline with an OIDC token',
  'a registry',
  'an identity provider and a browser',
  'docker',
  'npm and Go alone',
];
/** Variables of clients and tests, which are no settings of a role. */
const OTHER_VARIABLES = [
  'BERTH_URL',
  'BERTH_API_KEY',
  'BERTH_TENANT_ID',
  'BERTH_ID_TOKEN',
  'BERTH_ID_TOKEN_FILE',
];
const FOLDERS = 'src|test|docs|manifests|scripts|crds';

const all = pages().map((page) => ({ page, text: textOf(page) }));
const blocks = allShellBlocks();

/** Everything that matches, with its page. */
function named(pattern: RegExp): { page: string; found: string; rest: string }[] {
  return all.flatMap(({ page, text }) =>
    [...text.matchAll(pattern)].map(([, found = '', rest = '']) => ({ page, found, rest })),
  );
}

describe('a block of commands', () => {
  test('is found by its language, or by the first word of a line', () => {
    const page = [
      '<!-- every block needs: a cluster -->',
      '```',
      'kubectl get mdep',
      '```',
      '```text',
      'kubectl',
      '```',
      '<!-- run by: test/x.test.ts -->',
      '  ```sh tour',
      '  berth config',
      '  ```',
      '```',
      '┌── a picture',
      '```',
    ];
    expect(shellBlocks(page.join('\n'), 'x.md')).toEqual([
      {
        page: 'x.md',
        line: 2,
        text: 'kubectl get mdep\n',
        marker: { kind: 'needs', what: 'a cluster' },
      },
      {
        page: 'x.md',
        line: 9,
        text: 'berth config\n',
        marker: { kind: 'run by', what: 'test/x.test.ts' },
      },
    ]);
  });

  test.each(blocks.map((block) => [`${block.page}:${block.line}`, block] as const))(
    'names an existing test that runs it, or states what it needs: %s',
    (_, { marker, page }) => {
      if (marker === null) throw new Error('no comment says who runs it: see test/docs/pages.ts');
      if (marker.kind === 'needs') return expect(NEEDS).toContain(marker.what);
      const source = readFileSync(join(root, marker.what), 'utf8');
      // Its test reads the page itself, or takes all blocks that name it.
      expect(source.includes(page) || source.includes('allShellBlocks()')).toBe(true);
    },
  );
});

/** Pages whose deployments run on real nodes. */
const NODE_PAGES = ['docs/install.md', 'docs/remote-listener.md'];

describe('the pages', () => {
  test('name only settings that exist', () => {
    const names = [...Object.keys(SETTINGS), ...OTHER_VARIABLES];
    const sources = globSync(['test/**/*.ts', 'scripts/*.ts'], { cwd: root });
    const ofTests = (name: string) =>
      sources.some((path) => readFileSync(join(root, path), 'utf8').includes(`'${name}'`));
    const isThere = (name: string) =>
      names.includes(name) ||
      (name.endsWith('_') && names.some((known) => known.startsWith(name))) ||
      (name.startsWith('BERTH_TEST_') && ofTests(name));
    expect(named(/\b(BERTH_[A-Z0-9_]+)/g).filter(({ found }) => !isThere(found))).toEqual([]);
  });

  test('name only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const called = named(/\bnpm run (?:-s )?([a-z][a-z0-9:-]*[a-z0-9])/g);
    expect(called.length).toBeGreaterThan(5);
    // What is built there has scripts of its own.
    const own = called.filter(({ page }) => page !== 'docs/builds.md');
    expect(own.filter(({ found }) => !(found in scripts))).toEqual([]);
  });

  test('name only files and folders that exist', () => {
    const paths = named(new RegExp(`\`((?:${FOLDERS})/[^\`\\s]*)\``, 'g'));
    expect(paths.length).toBeGreaterThan(40);
    const isThere = (path: string) =>
      /[*…]/.test(path)
        ? globSync(path.replaceAll('…', '*'), { cwd: root }).length > 0
        : existsSync(join(root, path));
    expect(paths.filter(({ found }) => !isThere(found))).toEqual([]);
  });

  test('name only TypeScript files that exist, by their path or the end of it', () => {
    const files = globSync('{src,test,scripts}/**/*.ts', { cwd: root }).map((path) =>
      path.replaceAll('\\', '/'),
    );
    const sources = named(/(?<![\w/.*$-])([\w-][\w./-]*\.ts)\b/g);
    expect(sources.length).toBeGreaterThan(100);
    const isThere = (path: string) => files.some((file) => file === path || file.endsWith(`/${path}`));
    expect(sources.filter(({ found }) => !isThere(found))).toEqual([]);
  });

  test('link only to files and headings that exist', () => {
    const broken = named(/\]\((?!https?:)([^)\s#]*)(#[^)\s]*)?\)/g).filter(({ page, found, rest }) => {
      const target = found === '' ? page : join(dirname(page), found);
      if (!existsSync(join(root, target))) return true;
      return rest !== '' && !anchorsOf(textOf(target)).has(rest.slice(1));
    });
    expect(broken).toEqual([]);
  });

  test('deploy only the program that docs-install.test.ts runs in a real cluster', () => {
    const deployed = named(/"source_revision_config": (\{[^']+\})\}'/g).filter(({ page }) =>
      NODE_PAGES.includes(page),
    );
    expect(deployed.map(({ page }) => page)).toEqual(NODE_PAGES);
    expect(new Set(deployed.map(({ found }) => JSON.stringify(JSON.parse(found)))).size).toBe(1);
  });

  test('quote only titles that exist in the test file', () => {
    const cited = named(/`(test\/[^`]+\.test\.ts)` "([^"]+)"/g);
    expect(cited.length).toBeGreaterThan(15);
    const missing = cited.filter(
      ({ found, rest }) => !hasTitles(readFileSync(join(root, found), 'utf8'), rest),
    );
    expect(missing).toEqual([]);
  });
});

describe('decisions', () => {
  const files = globSync('docs/decisions/[0-9]*.md', { cwd: root }).map((path) => basename(path));
  const numberOf = (file: string) => file.slice(0, 4);

  test('have unique numbers', () => {
    const numbers = files.map(numberOf).sort();
    expect(numbers.filter((number, index) => numbers[index + 1] === number)).toEqual([]);
    expect(numbers.filter((number) => !/^\d{4}$/.test(number))).toEqual([]);
  });

  test('are listed in docs/decisions/README.md with their numbers and headings', () => {
    const rows = textOf('docs/decisions/README.md').matchAll(/^\| \[(\d{4})\]\(([^)]+)\) \| (.+) \|$/gm);
    const listed = [...rows].map(([, number, file, title]) => `${file}: # ${number} ${title}`);
    const headings = files.sort().map((file) => {
      const [heading = ''] = textOf(`docs/decisions/${file}`).split('\n', 1);
      return `${file}: ${heading}`;
    });
    expect(listed).toEqual(headings);
  });
});

describe('the indexes', () => {
  const linksOf = (page: string) =>
    [...textOf(page).matchAll(/\]\(([^)\s#]+)[^)]*\)/g)].map(([, path = '']) => join(dirname(page), path));

  test('docs/README.md lists every page of docs/, and README.md of a folder the pages of the folder', () => {
    const listed = pages().filter((page) => page.startsWith('docs/') && page !== 'docs/README.md');
    expect(listed.length).toBeGreaterThan(100);
    const indexOf = (page: string) =>
      dirname(page) === 'docs' || basename(page) === 'README.md'
        ? 'docs/README.md'
        : join(dirname(page), 'README.md');
    expect(listed.filter((page) => !linksOf(indexOf(page)).includes(page))).toEqual([]);
  });

  test('README.md links to docs/README.md', () => {
    expect(linksOf('README.md')).toContain('docs/README.md');
  });
});

describe('docs/architecture.md', () => {
  const page = textOf('docs/architecture.md');
  const cells = page.matchAll(/^\| `src\/([^`]+)\/` \| .+ \| (\S+) \| (.+) \| (.+) \|$/gm);
  const rows = [...cells].map(([, folder = '', entry = '', imports = '', tests = '']) => ({
    folder,
    entry: entry.replaceAll('`', ''),
    imports: imports.replaceAll('`', ''),
    tests,
  }));
  const folders = new Set(
    globSync('src/**/*.*', { cwd: root }).map((path) =>
      dirname(path.replaceAll('\\', '/')).slice('src/'.length),
    ),
  );
  folders.delete('');

  test('has one row for each module of check-imports.ts and each folder of src/ with files', () => {
    const expected = new Set([...folders, ...Object.keys(MODULES)]);
    expect(rows.map(({ folder }) => folder).toSorted()).toEqual([...expected].toSorted());
  });

  test('shows each module and each folder directly in src/ in the tree', () => {
    const [, tree = ''] = /^```text\n(src\/\n[^`]*)^```$/m.exec(page) ?? [];
    const shown = [...tree.matchAll(/^ +([a-z-]+)\/ /gm)].map(([, name = '']) => name);
    const expected = Object.keys(MODULES).flatMap((module) => module.split('/'));
    const top = [...folders].map((folder) => folder.split('/')[0] ?? '');
    expect([...new Set(shown)].toSorted()).toEqual([...new Set([...expected, ...top])].toSorted());
  });

  test('names an entry file that exists in each folder', () => {
    const named = rows.filter(({ entry }) => entry !== 'none');
    expect(named.length).toBeGreaterThan(60);
    expect(named.filter(({ folder, entry }) => !existsSync(join(root, 'src', folder, entry)))).toEqual([]);
  });

  test('states the imports that check-imports.ts allows', () => {
    for (const { folder, imports } of rows) {
      const allowed = MODULES[folder];
      if (allowed === undefined) expect(imports, folder).toMatch(/^(as \S+|every module|contract, domain)$/);
      else expect(imports, folder).toBe(allowed.join(', ') || 'no other module');
    }
  });
});

/** Whether a test file contains a title, or the titles of `describe > test` in this order. */
function hasTitles(source: string, quote: string): boolean {
  let from = 0;
  for (const title of quote.split(' > ')) {
    const at = source.indexOf(title, from);
    if (at < 0) return false;
    from = at + title.length;
  }
  return true;
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  const anchor = (heading: string) =>
    heading
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
  return new Set(headings.map(anchor));
}

/** `berth` commands of blocks and backquotes, also by the path of the program. */
function berthCommands(): { page: string; words: string[] }[] {
  const program = String.raw`(?:\bberth|/app/src/main\.js|src/main\.ts)`;
  const inline = named(new RegExp(`\`${program} ([^\`]+)\``, 'g'));
  const lines = blocks.flatMap(({ page, text }) =>
    [
      ...text.replaceAll('\\\n', ' ').matchAll(new RegExp(`(?:^|[ (=])${program} ([a-z][^\\n|;)>]*)`, 'gm')),
    ].map(([, found = '']) => ({ page, found })),
  );
  // Decisions also describe rejected commands.
  const today = [...inline, ...lines].filter(({ page }) => !page.startsWith('docs/decisions/'));
  return today.map(({ page, found }) => ({
    page,
    words: found.replace(/\s#.*$/, '').split(/\s+/),
  }));
}

const WORD = /^[a-z][a-z-]*$/;
const program = await buildProgram(null, processHost([]));

/** What is wrong with a command; null: nothing. */
function problemOf(words: readonly string[]): string | null {
  if (!WORD.test(words[0] ?? '')) return null;
  let command = program;
  for (const word of words.filter((each) => WORD.test(each))) {
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined && command.commands.length > 0) return `${command.name()} has no ${word}`;
    if (next === undefined) break;
    command = next;
  }
  const known = ['--help', ...command.options.flatMap(({ short, long }) => [short, long])];
  const end = words.indexOf('--');
  // What follows after -- is another program.
  const own = end < 0 ? words : words.slice(0, end);
  const options = own.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split('=')[0] ?? '');
  const unknown = options.filter((option) => !known.includes(option));
  return unknown.length > 0 ? `${command.name()} has no ${unknown.join(', ')}` : null;
}

test('the pages name the JavaScript file of the image for commands in a pod', () => {
  const wrong = all.filter(({ text }) => text.includes('/app/src/main.ts')).map(({ page }) => page);
  expect(wrong).toEqual([]);
});

test('the pages name only berth commands and options that exist', () => {
  const commands = berthCommands();
  expect(commands.length).toBeGreaterThan(30);
  const wrong: { page: string; command: string; problem: string }[] = [];
  for (const { page, words } of commands) {
    const problem = problemOf(words);
    if (problem !== null) wrong.push({ page, command: words.join(' '), problem });
  }
  expect(wrong).toEqual([]);
});

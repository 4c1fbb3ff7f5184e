import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { isolated } from '../../src/console/ui/isolated.ts';
import { describeConsole } from './harness/console.ts';
import type { Mode } from './hostile/hostile-api.ts';
import { hostileProblems } from './hostile/hostile-checks.ts';
import { openHostile, show } from './hostile/hostile-page.ts';
import { hostileText } from './hostile/hostile-values.ts';

/** Parameters of paths that are not ids. */
const PARAMS: Readonly<Record<string, string>> = { userCode: 'ABCD-EFGH' };
const ID = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';

/** Queries that open a part of a page. Each page is also opened without a query. */
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  '/t/$tenantId/deployments/$deploymentId/objects': ['object=Pod%2Fshop', 'object=Secret%2Fshop'],
  '/t/$tenantId/deployments/$deploymentId/revisions': [`from=${ID}&to=${ID}`],
  '/t/$tenantId/deployments/$deploymentId/logs': [`source=build&revision=${ID}`, 'previous=true'],
};

/** Parameters with which a link from elsewhere could bring hostile content. */
const HOSTILE_QUERY = [
  'name',
  'name_contains',
  'tag_value_ids',
  'object',
  'actor',
  'reason',
  'search',
  'code',
  'container',
  'q',
]
  .map((name) => `${name}=${encodeURIComponent(`x/${hostileText(0, false)}`)}`)
  .join('&');

/** What opens more of a page: dialogs, tabs, and parts that are closed. What all pages share is opened once. */
const SHARED_OPENERS = 'header button[aria-haspopup="dialog"]';
const OPENERS =
  '#main :is(button[aria-haspopup="dialog"], [role="tab"], details:not([open]) > summary, button[aria-expanded="false"])';
const MAX_OPENERS = 12;

/** Groups of pages, so that each test stays below the time limit. A page belongs to the last group whose prefix it has. */
const GROUPS = [
  '/',
  '/t/$tenantId',
  '/t/$tenantId/deployments/$deploymentId',
  '/t/$tenantId/deployments/$deploymentId/logs',
  '/t/$tenantId/deployments/$deploymentId/revisions',
  '/t/$tenantId/platform',
] as const;
const groupOf = (path: string) => GROUPS.findLast((prefix) => path.startsWith(prefix));

interface TriedPage {
  readonly path: string;
  readonly queries: readonly string[];
  readonly group: (typeof GROUPS)[number] | undefined;
}

describeConsole('hostile content', (world) => {
  const open = (mode: Mode) => openHostile(world, mode);

  /** Addresses of all pages, from the routes of the console. A new page is tried without a change of this file. */
  async function allPages(page: Page): Promise<TriedPage[]> {
    const paths = (await page.evaluate(
      'Object.keys(window.__TSR_ROUTER__.routesByPath).map((path) => path.replace(/(.)\\/$/, "$1"))',
    )) as string[];
    const addressOf = (path: string) =>
      path.replace(/\$(\w+)/g, (_, name: string) =>
        name === 'tenantId' ? world.stack.tenantId : (PARAMS[name] ?? ID),
      );
    return [...new Set(paths)].map((path) => ({
      path: addressOf(path),
      queries: QUERIES[path] ?? [],
      group: groupOf(path),
    }));
  }

  /** Opens one part after the other. */
  async function openParts(page: Page, selector: string): Promise<string[]> {
    const problems: string[] = [];
    const openers = page.locator(selector);
    const count = Math.min(MAX_OPENERS, await openers.count());
    for (let index = 0; index < count; index += 1) {
      const opener = openers.nth(index);
      if (!(await opener.isVisible())) continue;
      const dialogs = page.getByRole('dialog');
      const opensDialog = (await opener.getAttribute('aria-haspopup')) === 'dialog';
      await opener.click();
      // The code of a dialog can be loaded when it is opened, and so can its content.
      if (opensDialog) await dialogs.first().waitFor();
      await expect.poll(() => page.getByText(/^Loading/).count()).toBe(0);
      problems.push(...(await hostileProblems(page)));
      if (opensDialog) {
        const close = async () => {
          await page.keyboard.press('Escape');
          return dialogs.count();
        };
        await expect.poll(close).toBe(0);
      }
    }
    return problems;
  }

  async function tryPage(page: Page, address: string): Promise<string[]> {
    await show(page, address);
    const problems = [...(await hostileProblems(page)), ...(await openParts(page, OPENERS))];
    return [...new Set(problems)].map((problem) => `${address}: ${problem}`);
  }

  test.each(GROUPS)('each page below %s shows hostile content as isolated text', async (group) => {
    const { page, api } = await open('content');
    await page.getByRole('table', { name: 'Deployments' }).waitFor();
    const problems = group === '/' ? await openParts(page, SHARED_OPENERS) : [];
    const pages = (await allPages(page)).filter((each) => each.group === group);
    expect(pages, 'the group has pages').not.toEqual([]);
    for (const { path, queries } of pages) {
      for (const query of ['', ...queries])
        problems.push(...(await tryPage(page, query === '' ? path : `${path}?${query}`)));
    }
    expect(problems).toEqual([]);
    expect(api.unknown, 'requests that the OpenAPI document does not have').toEqual([]);
  });

  test('each page shows hostile errors, and hostile queries, as isolated text', async () => {
    const { page, api } = await open('content');
    await page.getByRole('table', { name: 'Deployments' }).waitFor();
    const pages = await allPages(page);
    api.mode = 'errors';
    await page.reload();
    await page.getByRole('alert').first().waitFor();
    const problems: string[] = [];
    for (const { path } of pages) {
      await show(page, `${path}?${HOSTILE_QUERY}`);
      problems.push(...(await hostileProblems(page)).map((problem) => `${path}: ${problem}`));
    }
    expect(problems).toEqual([]);
  });

  test('the checks find elements, links, mixed texts and wide pages', async () => {
    const page = await world.open({ path: '/', isSignedIn: false });
    // Without the policy of the console.
    await page.goto('about:blank');
    const text = hostileText(0, false).replaceAll('<', '&lt;');
    const bodies = {
      'an element was formed': '<x-hostile>x</x-hostile>',
      'a link with another protocol': '<a href="javascript:0">x</a>',
      'a text that is not alone': `<p>by ${text}</p>`,
      'an element that does not isolate': `<span>${text}</span>`,
      'pixels wider': '<div style="width: 2000px">x</div>',
    };
    for (const [problem, body] of Object.entries(bodies)) {
      await page.setContent(`<!doctype html><body>${body}</body>`);
      expect(await hostileProblems(page)).toContainEqual(expect.stringContaining(problem));
    }
    const harmless = isolated(hostileText(0, false)).replaceAll('<', '&lt;');
    await page.setContent(
      `<!doctype html><body><p style="overflow-wrap: anywhere">Delete ${harmless}?</p></body>`,
    );
    expect(await hostileProblems(page)).toEqual([]);
  });

  test('the sign-in shows a hostile identity provider as isolated text', async () => {
    const { page } = await open('signed-out');
    await page.getByRole('heading', { name: 'Sign in to Berth' }).waitFor();
    expect(await hostileProblems(page)).toEqual([]);
  });
});

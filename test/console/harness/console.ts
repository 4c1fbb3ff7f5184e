/** A browser that uses the console of the shared Berth, and checks of what it shows. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, inject } from 'vitest';
import { launchBrowser } from '../../cluster/browser.ts';
import { findChromium } from '../../cluster/chromium.ts';
import { type BerthClient, berthClient } from '../../integration/harness/berth-setup.ts';
import type { ConsoleStack } from './stack.ts';

const TIMEOUT_MS = 30_000;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface OpenOptions {
  /** Path and query below the console, such as `/t/…/deployments?status=READY`. Default: the first page. */
  readonly path?: string;
  /** Default: signed in with the API key of the tenant. */
  readonly isSignedIn?: boolean;
  /** Default: the key of the tenant. */
  readonly apiKey?: string;
  readonly width?: number;
  /** Base URL of another API process. */
  readonly url?: string;
  /** Errors in the console of the browser that the test expects, such as those of requests that fail. */
  readonly expected?: RegExp;
}

export interface ConsoleWorld {
  readonly stack: ConsoleStack;
  /** The API, with the key of the tenant. */
  readonly api: BerthClient;
  /** Opens a page in a browser with its own cookies. */
  open(options?: OpenOptions): Promise<Page>;
  /** Opens another tab of the same browser. */
  openTab(page: Page, path: string): Promise<Page>;
  /** Path of a page of the tenant, such as `/deployments`. */
  pathOf(path: string): string;
}

/** What the console of a browser reports although nothing is wrong: a response with an error that the page handles. */
const HANDLED = /Failed to load resource: the server responded with a status of (401|404)/;

/** Collects errors and violations of the policy. */
function listen(page: Page, problems: string[], expected: RegExp | undefined): void {
  const isExpected = (text: string) => HANDLED.test(text) || expected?.test(text) === true;
  page.on('pageerror', (error) => problems.push(`error in ${page.url()}: ${error.stack ?? error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    if (!isExpected(message.text())) problems.push(`${message.type()} in ${page.url()}: ${message.text()}`);
  });
}

/** Signs in through the form of the page. */
export async function signInWithKey(page: Page, apiKey: string): Promise<void> {
  await page.getByLabel('API key').fill(apiKey);
  await page.getByRole('button', { name: 'Sign in with an API key' }).click();
}

/**
 * Confirms an action in an open dialog, and waits until the dialog is closed. While it is open, the page behind it has no roles, so that
 * nothing of it is found.
 */
export async function confirmIn(page: Page, button: string): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** A test file of the console. Its tests are skipped if there is no browser. */
export function describeConsole(name: string, tests: (world: ConsoleWorld) => void): void {
  const { skipped, stack } = inject('console');
  describe.skipIf(skipped !== null)(skipped === null ? name : `${name} (${skipped})`, () => {
    let browser: Browser;
    const contexts: BrowserContext[] = [];
    const problems: string[] = [];
    const expectations = new Map<BrowserContext, RegExp | undefined>();

    beforeAll(async () => {
      const found = findChromium();
      if (found === null) throw new Error('failed to start a browser: it has disappeared');
      browser = await launchBrowser(found);
    });
    afterEach(async () => {
      await Promise.all(contexts.splice(0).map((context) => context.close()));
      expect(problems.splice(0), 'errors in the console of the browser').toEqual([]);
    });
    afterAll(() => browser?.close());

    const running = (): ConsoleStack => {
      if (stack === null) throw new Error('failed to use Berth: it was not started');
      return stack;
    };
    const world: ConsoleWorld = {
      get stack() {
        return running();
      },
      get api() {
        return berthClient(running().apiKey, () => running().url);
      },
      pathOf: (path) => `/t/${running().tenantId}${path}`,
      async open({
        path = '/',
        isSignedIn = true,
        apiKey = running().apiKey,
        width = 1280,
        url = running().url,
        expected,
      } = {}) {
        const context = await browser.newContext({ viewport: { width, height: 800 } });
        context.setDefaultTimeout(TIMEOUT_MS);
        contexts.push(context);
        expectations.set(context, expected);
        const page = await context.newPage();
        listen(page, problems, expected);
        if (isSignedIn) {
          const answer = await context.request.post(`${url}/v2/auth/key-session`, {
            data: { api_key: apiKey },
            headers: { origin: new URL(url).origin },
          });
          expect(answer.status(), await answer.text()).toBe(201);
        }
        await page.goto(`${url}/console${path}`);
        return page;
      },
      async openTab(page, path) {
        const tab = await page.context().newPage();
        listen(tab, problems, expectations.get(page.context()));
        await tab.goto(`${running().url}/console${path}`);
        return tab;
      },
    };
    tests(world);
  });
}

interface AxeViolation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Runs axe on the page in both themes, and checks that nothing is wider than the window. */
export async function checkPage(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    // Playwright evaluates it outside of the policy of the page.
    await page.evaluate(axe);
    const violations = (await page.evaluate(
      `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`,
    )) as AxeViolation[];
    const texts = violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${colorScheme}: ${id}: ${help}: ${html}: ${failureSummary}`),
    );
    expect(texts).toEqual([]);
  }
  const overflow = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
  expect(overflow, 'pixels by which the page is wider than the window').toBeLessThanOrEqual(0);
}

/** Opens a page with a table of deployments, and measures what a person waits for. Both sides are measured in the same way. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

/**
 * Runs in the page before its scripts. `bench.interactive` becomes the time from the start of the navigation, in milliseconds, until a
 * row is painted and the page reacts again. `bench.await(id, text)` ends when the row of a deployment shows a text.
 */
const SCRIPT = `(() => {
  const afterPaint = (act) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = act;
    port2.postMessage(null);
  });
  const until = (holds, act) => {
    const check = () => (holds() ? afterPaint(act) : requestAnimationFrame(check));
    check();
  };
  const row = (id) => document.querySelector('table a[href*="' + id + '"]')?.closest('tr');
  const waits = new Map();
  window.bench = {
    interactive: new Promise((resolve) => until(() => row('/deployments/'), () => resolve(performance.now()))),
    expect(id, text) {
      waits.set(id, new Promise((resolve) => until(() => row(id)?.textContent.includes(text), resolve)));
    },
    seen: (id) => waits.get(id).then(() => true),
  };
})()`;

export interface Visited {
  readonly browser: Browser;
  readonly url: string;
  /** The cookies of someone who is signed in. */
  readonly session: NonNullable<BrowserContextOptions['storageState']>;
}

export interface Visit {
  readonly page: Page;
  /** Milliseconds. */
  readonly interactiveAfter: number;
  close(): Promise<void>;
}

/** Opens the page in a browser without a cache. */
export async function visit({ browser, url, session }: Visited): Promise<Visit> {
  const context = await browser.newContext({ storageState: session, viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage();
    await page.addInitScript(SCRIPT);
    await page.goto(url);
    const interactiveAfter = (await page.evaluate('window.bench.interactive')) as number;
    return { page, interactiveAfter, close: () => context.close() };
  } catch (error) {
    await context.close();
    throw error;
  }
}

const STREAM_START_MS = 1_000;

/** Opens the page, and waits until it receives changes. */
export async function visitWithStream(visited: Visited): Promise<Visit> {
  const opened = await visit(visited);
  // The stream begins after the page, and what the server does at its start ends.
  await sleep(STREAM_START_MS);
  return opened;
}

/**
 * Milliseconds from the end of a change until the page shows it.
 * @param change ends when the change is committed
 */
export async function timeToShow(
  { page }: Visit,
  {
    id,
    text,
    change,
  }: { readonly id: string; readonly text: string; readonly change: () => Promise<unknown> },
): Promise<number> {
  await page.evaluate(`window.bench.expect(${JSON.stringify(id)}, ${JSON.stringify(text)})`);
  await change();
  const at = performance.now();
  await page.evaluate(`window.bench.seen(${JSON.stringify(id)})`);
  return performance.now() - at;
}

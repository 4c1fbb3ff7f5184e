/** What must be true of a page with hostile content. */
import type { Page } from 'playwright-core';
import { END, START } from './hostile-values.ts';

/**
 * Runs in the page. Returns what is wrong:
 * - An element or a link that was formed from a text.
 * - A hostile text that is not alone in an element that isolates its direction, so that it can change the order of other
 *   texts, and that `isolated` did not enclose either. Lines of `pre` are isolated from each other.
 */
const SCRIPT = `(({ start, end }) => {
  const problems = [];
  const describe = (element) => element.outerHTML.slice(0, 160);
  if (window.hostileRan) problems.push('a script of a text ran');
  for (const made of document.querySelectorAll('x-hostile, script:not([src]), [onerror], [onload], [onclick]'))
    problems.push('an element was formed from a text: ' + describe(made));
  for (const link of document.querySelectorAll('[href], [src], [action], [formaction]')) {
    for (const name of ['href', 'src', 'action', 'formaction']) {
      const url = link.getAttribute(name);
      if (url !== null && !/^https?:$/.test(new URL(url, document.baseURI).protocol))
        problems.push('a link with another protocol: ' + describe(link));
    }
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node.data;
    const element = node.parentElement;
    if (!text.includes(start) || element.closest('pre, textarea, option') !== null) continue;
    const parts = text.split(start).slice(0, -1);
    if (!/[\\u202a-\\u202e\\u2066\\u2067]/.test(text) && parts.every((part) => part.endsWith('\\u2068'))) continue;
    const siblings = [...element.childNodes].filter((each) => each !== node && each.textContent.trim() !== '');
    const isWhole = text.trimStart().startsWith(start) && (!text.includes(end) || text.trimEnd().endsWith(end));
    if (siblings.length > 0 || !isWhole)
      problems.push('a text that is not alone in its element: ' + describe(element));
    if (!/isolate|plaintext/.test(getComputedStyle(element).unicodeBidi))
      problems.push('an element that does not isolate its text: ' + describe(element));
  }
  const scrolls = (element) => element !== document.body && element !== null &&
    (getComputedStyle(element).overflowX !== 'visible' || scrolls(element.parentElement));
  const wide = document.documentElement.scrollWidth - window.innerWidth;
  if (wide > 0) {
    const elements = [...document.body.querySelectorAll('*')]
      .filter((each) => each.getBoundingClientRect().right > window.innerWidth + 1 && !scrolls(each.parentElement)).slice(0, 3).map(describe);
    problems.push('the page is ' + wide + ' pixels wider than the window of ' + window.innerWidth + ': ' + elements.join(' | '));
  }
  return [...new Set(problems)];
})`;

const WIDTHS = [360, 1280];

/** What is wrong with the page, on a phone and on a wide screen. */
export async function hostileProblems(page: Page): Promise<string[]> {
  const problems: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    problems.push(
      ...((await page.evaluate(`${SCRIPT}(${JSON.stringify({ start: START, end: END })})`)) as string[]),
    );
  }
  return [...new Set(problems)];
}

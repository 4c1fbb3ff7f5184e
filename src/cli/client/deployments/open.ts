import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Context, show } from '../context.ts';
import { urlOf } from './read.ts';

/** `berth open`. */

/** The program of the system that opens a URL in the browser. */
const OPENER: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** Whether the browser was started. */
async function openInBrowser(url: string): Promise<boolean> {
  const [program, ...args] = OPENER[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  child.unref();
  return await once(child, 'spawn').then(
    () => true,
    () => false,
  );
}

/** Prints the URL, and opens it. A URL comes from the API, so only http and https URLs are opened. */
export async function open(
  context: Context,
  name: string,
  options: { readonly print: boolean },
): Promise<undefined> {
  const url = await urlOf(context, name);
  await show(context, { url }, { table: () => url, names: () => [url] });
  if (options.print || !/^https?:$/.test(new URL(url).protocol)) return;
  if (!(await openInBrowser(url)))
    context.note('no browser could be started; next: open the URL in a browser');
}

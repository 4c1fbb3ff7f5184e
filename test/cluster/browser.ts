/** Starts the browser of this machine. */
import { type Browser, chromium } from 'playwright-core';
import type { Chromium } from './chromium.ts';

/** Without a window. Tests may run as root, and in containers with a small /dev/shm. */
export const launchBrowser = ({ path, env }: Chromium): Promise<Browser> =>
  chromium.launch({
    executablePath: path,
    env: { ...(process.env as Record<string, string>), ...env },
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });

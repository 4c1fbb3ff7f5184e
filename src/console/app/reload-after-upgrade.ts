const RELOADED = 'berth-reloaded-at';
const PAUSE_MS = 60_000;

/** Whether a page that was reloaded at this time may be reloaded again. */
export const mayReload = (last: string | null, now: number): boolean => now - Number(last ?? 0) > PAUSE_MS;

/**
 * Loads the page again if a part of it is missing, because the API was upgraded since the page was loaded. At most once a minute, so that a
 * missing file cannot cause a loop.
 */
export function reloadAfterUpgrade(): void {
  window.addEventListener('vite:preloadError', (event) => {
    if (!mayReload(sessionStorage.getItem(RELOADED), Date.now())) return;
    event.preventDefault();
    sessionStorage.setItem(RELOADED, String(Date.now()));
    window.location.reload();
  });
}

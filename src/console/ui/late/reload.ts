import { mayReload } from './missing-part.ts';
import { isHeld } from './unsaved.ts';

const RELOADED = 'berth-reloaded-at';

/** Loads the page again, if this is allowed now. */
export function reloadIfAllowed(): void {
  if (!mayReload(sessionStorage.getItem(RELOADED), Date.now(), isHeld())) return;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  window.location.reload();
}

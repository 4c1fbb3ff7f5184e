import { lazyRouteComponent } from '@tanstack/react-router';
import { loadPart } from '../ui/late/missing-part.ts';

/**
 * A page that is loaded when it is opened. The router would load the whole console again by itself if the file is missing, even while a
 * dialog is open. With an error of the console, `RouteError` decides.
 */
// biome-ignore lint/suspicious/noExplicitAny: the bound of lazyRouteComponent.
export const page = <T extends Record<string, any>, K extends keyof T>(load: () => Promise<T>, name: K) =>
  lazyRouteComponent<T, K>(() => loadPart(load), name);

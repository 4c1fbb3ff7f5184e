import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { followOf } from '../change/follow.ts';
import { kindOf } from '../create/kind-of.ts';
import { filtersOf } from '../fleet/filters.ts';
import { SignedInPage } from '../session/signed-in-page.tsx';
import { FirstPage } from '../shell/first-page.tsx';
import { Root } from '../shell/root.tsx';
import { NotFound, RouteError } from '../shell/route-states.tsx';
import { Tenant } from '../shell/tenant.tsx';
import { consolePath } from './addresses.ts';
import { parseSearch, stringifySearch } from './search.ts';

/** All pages with their URLs. Each page is a file of its own, which is loaded when it is opened. */

const root = createRootRoute({ component: Root, notFoundComponent: NotFound });

const first = createRoute({ getParentRoute: () => root, path: '/', component: FirstPage });
const signedIn = createRoute({ getParentRoute: () => root, path: 'signed-in', component: SignedInPage });
const tenant = createRoute({ getParentRoute: () => root, path: 't/$tenantId', component: Tenant });

const fleet = createRoute({
  getParentRoute: () => tenant,
  path: 'deployments',
  validateSearch: filtersOf,
  component: lazyRouteComponent(() => import('../fleet/page.tsx'), 'FleetPage'),
});

const create = createRoute({
  getParentRoute: () => tenant,
  path: 'new',
  validateSearch: kindOf,
  component: lazyRouteComponent(() => import('../create/page.tsx'), 'CreatePage'),
});

const deployment = createRoute({
  getParentRoute: () => tenant,
  path: 'deployments/$deploymentId',
  validateSearch: followOf,
  component: lazyRouteComponent(() => import('../deployment/page.tsx'), 'DeploymentPage'),
});
/** The tabs of a deployment. deployment/tabs.ts has their labels. */
const deploymentTabs = [
  createRoute({
    getParentRoute: () => deployment,
    path: '/',
    component: lazyRouteComponent(() => import('../deployment/overview-tab.tsx'), 'OverviewTab'),
  }),
  createRoute({
    getParentRoute: () => deployment,
    path: 'revisions',
    component: lazyRouteComponent(() => import('../deployment/revisions-tab.tsx'), 'RevisionsTab'),
  }),
  createRoute({
    getParentRoute: () => deployment,
    path: 'events',
    component: lazyRouteComponent(() => import('../deployment/events-tab.tsx'), 'EventsTab'),
  }),
  createRoute({
    getParentRoute: () => deployment,
    path: 'edit',
    component: lazyRouteComponent(() => import('../edit/edit-tab.tsx'), 'EditTab'),
  }),
] as const;

export const router = createRouter({
  routeTree: root.addChildren([
    first,
    signedIn,
    tenant.addChildren([fleet, create, deployment.addChildren(deploymentTabs)]),
  ]),
  basepath: consolePath,
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultErrorComponent: RouteError,
  scrollRestoration: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

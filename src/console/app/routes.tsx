import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { tokenFiltersOf } from '../access/filters.ts';
import { followOf } from '../change/follow.ts';
import { kindOf } from '../create/kind-of.ts';
import { filtersOf } from '../fleet/filters.ts';
import { historyFiltersOf } from '../history/filters.ts';
import { logFiltersOf } from '../logs/log-filters.ts';
import { selectionOf } from '../objects/selection.ts';
import { ownerOf } from '../platform/key-form.ts';
import { revisionSelectionOf } from '../revisions/selection.ts';
import { SignedInPage } from '../session/signed-in-page.tsx';
import { FirstPage } from '../shell/first-page.tsx';
import { Root } from '../shell/root.tsx';
import { NotFound, RouteError } from '../shell/route-states.tsx';
import { Tenant } from '../shell/tenant.tsx';
import { consolePath } from './addresses.ts';
import { page } from './page-part.ts';
import { parseSearch, stringifySearch } from './search.ts';

/** All pages with their URLs. Each page is a file of its own, which is loaded when it is opened. */

const root = createRootRoute({ component: Root, notFoundComponent: NotFound });

const first = createRoute({ getParentRoute: () => root, path: '/', component: FirstPage });
const signedIn = createRoute({ getParentRoute: () => root, path: 'signed-in', component: SignedInPage });
const device = createRoute({
  getParentRoute: () => root,
  path: 'device',
  component: page(() => import('../device/page.tsx'), 'DevicePage'),
});
const tenant = createRoute({ getParentRoute: () => root, path: 't/$tenantId', component: Tenant });

const fleet = createRoute({
  getParentRoute: () => tenant,
  path: 'deployments',
  validateSearch: filtersOf,
  component: page(() => import('../fleet/page.tsx'), 'FleetPage'),
});

const create = createRoute({
  getParentRoute: () => tenant,
  path: 'new',
  validateSearch: kindOf,
  component: page(() => import('../create/page.tsx'), 'CreatePage'),
});

const deployment = createRoute({
  getParentRoute: () => tenant,
  path: 'deployments/$deploymentId',
  validateSearch: followOf,
  component: page(() => import('../deployment/page.tsx'), 'DeploymentPage'),
});
/** The tabs of a deployment. deployment/tabs.ts has their labels. */
const deploymentTabs = [
  createRoute({
    getParentRoute: () => deployment,
    path: '/',
    component: page(() => import('../deployment/overview-tab.tsx'), 'OverviewTab'),
  }),
  createRoute({
    getParentRoute: () => deployment,
    path: 'objects',
    validateSearch: selectionOf,
    component: page(() => import('../objects/tab.tsx'), 'ObjectsTab'),
  }),
  createRoute({
    getParentRoute: () => deployment,
    path: 'revisions',
    validateSearch: revisionSelectionOf,
    component: page(() => import('../revisions/revisions-tab.tsx'), 'RevisionsTab'),
  }),
  createRoute({
    getParentRoute: () => deployment,
    path: 'logs',
    validateSearch: logFiltersOf,
    component: page(() => import('../logs/logs-tab.tsx'), 'LogsTab'),
  }),
  createRoute({
    getParentRoute: () => deployment,
    path: 'tasks',
    component: page(() => import('../tasks/tasks-tab.tsx'), 'TasksTab'),
  }),
  createRoute({
    getParentRoute: () => deployment,
    path: 'tasks/$taskId',
    component: page(() => import('../tasks/task-tab.tsx'), 'TaskTab'),
  }),
  createRoute({
    getParentRoute: () => deployment,
    path: 'events',
    component: page(() => import('../deployment/events-tab.tsx'), 'EventsTab'),
  }),
  createRoute({
    getParentRoute: () => deployment,
    path: 'edit',
    component: page(() => import('../edit/edit-tab.tsx'), 'EditTab'),
  }),
] as const;

const history = createRoute({
  getParentRoute: () => tenant,
  path: 'history',
  validateSearch: historyFiltersOf,
  component: page(() => import('../history/page.tsx'), 'HistoryPage'),
});
const usage = createRoute({
  getParentRoute: () => tenant,
  path: 'usage',
  component: page(() => import('../usage/page.tsx'), 'UsagePage'),
});
const tokens = createRoute({
  getParentRoute: () => tenant,
  path: 'tokens',
  validateSearch: tokenFiltersOf,
  component: page(() => import('../access/page.tsx'), 'TokensPage'),
});

const platform = createRoute({
  getParentRoute: () => tenant,
  path: 'platform',
  component: page(() => import('../platform/page.tsx'), 'PlatformPage'),
});
/** The pages of the platform. platform/sections.ts has their labels and scopes. */
const platformSections = [
  createRoute({
    getParentRoute: () => platform,
    path: '/',
    component: page(() => import('../platform/listeners.tsx'), 'ListenersPage'),
  }),
  createRoute({
    getParentRoute: () => platform,
    path: 'integrations',
    component: page(() => import('../platform/integrations.tsx'), 'IntegrationsPage'),
  }),
  createRoute({
    getParentRoute: () => platform,
    path: 'policy',
    component: page(() => import('../platform/policy.tsx'), 'PolicyPage'),
  }),
  createRoute({
    getParentRoute: () => platform,
    path: 'keys',
    validateSearch: ownerOf,
    component: page(() => import('../platform/keys.tsx'), 'KeysPage'),
  }),
  createRoute({
    getParentRoute: () => platform,
    path: 'tenants',
    component: page(() => import('../platform/tenants.tsx'), 'TenantsPage'),
  }),
] as const;

export const router = createRouter({
  routeTree: root.addChildren([
    first,
    signedIn,
    device,
    tenant.addChildren([
      fleet,
      create,
      deployment.addChildren(deploymentTabs),
      history,
      usage,
      tokens,
      platform.addChildren(platformSections),
    ]),
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

/** The tabs of a deployment. Each needs a route in app/routes.tsx. A tab with the scope `deployments:write` is hidden from sessions without it. */
export const TABS = [
  { to: '/t/$tenantId/deployments/$deploymentId', label: 'Overview', isExact: true },
  { to: '/t/$tenantId/deployments/$deploymentId/objects', label: 'Objects', isExact: false },
  { to: '/t/$tenantId/deployments/$deploymentId/revisions', label: 'Revisions', isExact: false },
  { to: '/t/$tenantId/deployments/$deploymentId/logs', label: 'Logs', isExact: false },
  { to: '/t/$tenantId/deployments/$deploymentId/tasks', label: 'Tasks', isExact: false },
  { to: '/t/$tenantId/deployments/$deploymentId/events', label: 'Events', isExact: false },
  {
    to: '/t/$tenantId/deployments/$deploymentId/edit',
    label: 'Edit',
    isExact: false,
    scope: 'deployments:write',
  },
] as const;

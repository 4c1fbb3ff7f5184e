/** The tabs of a deployment. Each needs a route in app/routes.tsx. */
export const TABS = [
  { to: '/t/$tenantId/deployments/$deploymentId', label: 'Overview', isExact: true },
  { to: '/t/$tenantId/deployments/$deploymentId/objects', label: 'Objects', isExact: false },
  { to: '/t/$tenantId/deployments/$deploymentId/revisions', label: 'Revisions', isExact: false },
  { to: '/t/$tenantId/deployments/$deploymentId/logs', label: 'Logs', isExact: false },
  { to: '/t/$tenantId/deployments/$deploymentId/events', label: 'Events', isExact: false },
] as const;

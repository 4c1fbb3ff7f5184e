/** The pages in the navigation of a tenant. Each needs a route in app/routes.tsx. */
export const NAVIGATION = [
  { to: '/t/$tenantId/deployments', label: 'Deployments' },
  { to: '/t/$tenantId/history', label: 'History' },
  { to: '/t/$tenantId/usage', label: 'Usage' },
  { to: '/t/$tenantId/platform', label: 'Platform' },
] as const;

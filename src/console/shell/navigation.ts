/** The pages in the navigation of a tenant. Each needs a route in app/routes.tsx. */
export const NAVIGATION = [{ to: '/t/$tenantId/deployments', label: 'Deployments' }] as const;

/** The pages of the platform. Each needs a route in app/routes.tsx. */

interface PlatformSection {
  readonly to:
    | '/t/$tenantId/platform'
    | '/t/$tenantId/platform/integrations'
    | '/t/$tenantId/platform/keys'
    | '/t/$tenantId/platform/tenants'
    | '/t/$tenantId/platform/policy';
  readonly label: string;
  /** The scope in the tenant that the page needs. */
  readonly scope: 'deployments:read' | 'admin';
}

const SECTIONS: readonly PlatformSection[] = [
  { to: '/t/$tenantId/platform', label: 'Listeners', scope: 'deployments:read' },
  { to: '/t/$tenantId/platform/integrations', label: 'Integrations', scope: 'deployments:read' },
  { to: '/t/$tenantId/platform/policy', label: 'Policy', scope: 'deployments:read' },
  { to: '/t/$tenantId/platform/keys', label: 'API keys', scope: 'admin' },
  { to: '/t/$tenantId/platform/tenants', label: 'Tenants and quotas', scope: 'admin' },
];

/** The pages that someone with these scopes can use. */
export const sectionsFor = (scopes: ReadonlySet<string>): readonly PlatformSection[] =>
  SECTIONS.filter(({ scope }) => scopes.has(scope));

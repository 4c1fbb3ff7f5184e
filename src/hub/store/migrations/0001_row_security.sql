-- Each tenant's rows are visible on behalf of that tenant only, whatever a query's WHERE says.
-- On behalf of whom a connection works is its setting berth.tenant_id: a tenant's id, or * for the platform's own work;
-- unset or empty: nobody, no row. FORCE, because the program usually owns its tables. Superusers are not bound by this.
-- (pg_dump needs a role with BYPASSRLS, or --enable-row-security with PGOPTIONS='-c berth.tenant_id=*'.)
CREATE FUNCTION berth_all_tenants() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT coalesce(current_setting('berth.tenant_id', true) = '*', false) $$;
--> statement-breakpoint
CREATE FUNCTION berth_tenant_id() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT nullif(nullif(current_setting('berth.tenant_id', true), '*'), '')::uuid $$;
--> statement-breakpoint
DO $$
DECLARE
  protected text;
BEGIN
  -- The sub-selects are evaluated once a statement, not once a row.
  FOREACH protected IN ARRAY ARRAY['deployments', 'revisions', 'secret_sets', 'tombstones', 'tracing_projects',
    'events', 'idempotency_keys', 'api_keys', 'tag_keys', 'tag_values', 'deployment_tag_values']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', protected);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', protected);
    EXECUTE format('CREATE POLICY tenant ON %I USING ((SELECT berth_all_tenants()) OR tenant_id = (SELECT berth_tenant_id()))', protected);
  END LOOP;
END
$$;
--> statement-breakpoint
-- Every tenant may use the platform's listeners, none may change them.
ALTER TABLE listeners ENABLE ROW LEVEL SECURITY;
--> statement-breakpoint
ALTER TABLE listeners FORCE ROW LEVEL SECURITY;
--> statement-breakpoint
CREATE POLICY tenant ON listeners USING ((SELECT berth_all_tenants()) OR tenant_id = (SELECT berth_tenant_id()));
--> statement-breakpoint
CREATE POLICY platform ON listeners FOR SELECT USING (tenant_id IS NULL);
--> statement-breakpoint
-- A tenant sees itself; the platform sees all.
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
--> statement-breakpoint
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
--> statement-breakpoint
CREATE POLICY tenant ON tenants USING ((SELECT berth_all_tenants()) OR id = (SELECT berth_tenant_id()));
--> statement-breakpoint
-- Room on each page for observations, which rewrite a row without touching an index.
ALTER TABLE deployments SET (fillfactor = 85);
--> statement-breakpoint
-- The listener that serves deployments which name none (domain/source.ts PLATFORM_LISTENER_ID).
SELECT set_config('berth.tenant_id', '*', true);
--> statement-breakpoint
INSERT INTO listeners (id, tenant_id, compute_id, compute_config)
VALUES ('00000000-0000-7000-8000-000000000001', NULL, 'local', '{"k8s_namespaces": []}');

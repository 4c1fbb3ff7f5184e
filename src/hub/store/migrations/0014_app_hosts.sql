CREATE TABLE "deployment_hosts" (
	"host" text PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"deployment_id" uuid NOT NULL,
	"extra" boolean NOT NULL
);
--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "observed_domains" jsonb;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "domain_token" text DEFAULT replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '') NOT NULL;--> statement-breakpoint
ALTER TABLE "deployment_hosts" ADD CONSTRAINT "deployment_hosts_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployment_hosts" ADD CONSTRAINT "deployment_hosts_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deployment_hosts_by_deployment" ON "deployment_hosts" USING btree ("deployment_id");--> statement-breakpoint
CREATE INDEX "deployment_hosts_extra" ON "deployment_hosts" USING btree ("tenant_id") WHERE "deployment_hosts"."extra";--> statement-breakpoint
ALTER TABLE "deployment_hosts" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "deployment_hosts" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE POLICY tenant ON "deployment_hosts" USING ((SELECT berth_all_tenants()) OR tenant_id = (SELECT berth_tenant_id()));--> statement-breakpoint
-- Keeps the hosts of a deployment equal to its source_config, whichever version of Berth writes it. The key of the table
-- rejects a host of another deployment. Hosts are inserted in one order, so that two transactions never wait for each other.
CREATE FUNCTION berth_claim_hosts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  wanted text[] := '{}';
BEGIN
  IF NEW.delete_requested_at IS NULL AND jsonb_typeof(NEW.source_config -> 'domains') = 'array' THEN
    wanted := ARRAY(SELECT jsonb_array_elements_text(NEW.source_config -> 'domains'));
  END IF;
  DELETE FROM deployment_hosts h WHERE h.deployment_id = NEW.id AND NOT (
    (h.extra AND h.host = ANY (wanted))
    OR (NOT h.extra AND NEW.delete_requested_at IS NULL AND h.host IS NOT DISTINCT FROM NEW.route_host));
  INSERT INTO deployment_hosts (host, tenant_id, deployment_id, extra)
  SELECT w.host, NEW.tenant_id, NEW.id, w.extra FROM (
    SELECT unnest(wanted) AS host, true AS extra
    UNION ALL SELECT NEW.route_host, false WHERE NEW.route_host IS NOT NULL AND NEW.delete_requested_at IS NULL
  ) w
  WHERE NOT EXISTS (SELECT 1 FROM deployment_hosts h WHERE h.host = w.host AND h.deployment_id = NEW.id AND h.extra = w.extra)
  ORDER BY w.host;
  RETURN NULL;
END
$$;--> statement-breakpoint
CREATE TRIGGER claim_hosts_of_new AFTER INSERT ON "deployments" FOR EACH ROW
WHEN (NEW.route_host IS NOT NULL OR NEW.source_config ? 'domains') EXECUTE FUNCTION berth_claim_hosts();--> statement-breakpoint
CREATE TRIGGER claim_hosts AFTER UPDATE OF route_host, source_config, delete_requested_at ON "deployments" FOR EACH ROW
WHEN (OLD.route_host IS DISTINCT FROM NEW.route_host
  OR OLD.source_config -> 'domains' IS DISTINCT FROM NEW.source_config -> 'domains'
  OR (OLD.delete_requested_at IS NULL) <> (NEW.delete_requested_at IS NULL)) EXECUTE FUNCTION berth_claim_hosts();--> statement-breakpoint
-- After the triggers, whose locks keep other writers out until the migration ends.
INSERT INTO "deployment_hosts" ("host", "tenant_id", "deployment_id", "extra")
SELECT route_host, tenant_id, id, false FROM "deployments" WHERE route_host IS NOT NULL AND delete_requested_at IS NULL;

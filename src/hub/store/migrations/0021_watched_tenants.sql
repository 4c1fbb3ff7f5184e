CREATE TABLE "watched_tenants" (
	"tenant_id" uuid NOT NULL,
	"watcher_id" uuid NOT NULL,
	CONSTRAINT "watched_tenants_tenant_id_watcher_id_pk" PRIMARY KEY("tenant_id","watcher_id")
);
--> statement-breakpoint
ALTER TABLE "change_watchers" ADD COLUMN "mark" uuid;--> statement-breakpoint
ALTER TABLE "listeners" ADD COLUMN "state_version" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "watched_tenants" ADD CONSTRAINT "watched_tenants_watcher_id_change_watchers_id_fk" FOREIGN KEY ("watcher_id") REFERENCES "public"."change_watchers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "watched_tenants_of_watcher" ON "watched_tenants" USING btree ("watcher_id");--> statement-breakpoint
ALTER TABLE "watched_tenants" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "watched_tenants" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE POLICY tenant ON "watched_tenants" USING ((SELECT berth_all_tenants()) OR tenant_id = (SELECT berth_tenant_id()));--> statement-breakpoint
-- Transactions with a notification commit one at a time, so hints are sent only for tenants with streams
-- (docs/decisions/0141-sweep-and-notify-by-tenant.md). No tenant: any stream.
CREATE FUNCTION berth_is_watched(tenant uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN tenant IS NULL THEN EXISTS (SELECT FROM change_watchers w WHERE w.expires_at > now())
    ELSE EXISTS (SELECT FROM watched_tenants t JOIN change_watchers w ON w.id = t.watcher_id
      WHERE t.tenant_id = tenant AND w.expires_at > now()) END
$$;--> statement-breakpoint
CREATE OR REPLACE FUNCTION berth_hint_of_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF berth_is_watched(NEW.tenant_id) THEN
    PERFORM berth_send_hint(NEW.tenant_id, coalesce(NEW.deployment_id::text, '-'),
      (SELECT d.generation FROM deployments d WHERE d.id = NEW.deployment_id));
  END IF;
  RETURN NULL;
END
$$;--> statement-breakpoint
CREATE OR REPLACE FUNCTION berth_hint_of_deployment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF berth_is_watched(NEW.tenant_id) THEN
    PERFORM berth_send_hint(NEW.tenant_id, NEW.id::text, NEW.generation);
  END IF;
  RETURN NULL;
END
$$;--> statement-breakpoint
CREATE OR REPLACE FUNCTION berth_hint_of_listener() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF berth_is_watched(NEW.tenant_id) THEN
    PERFORM berth_send_hint(NEW.tenant_id, 'all', NULL);
  END IF;
  RETURN NULL;
END
$$;--> statement-breakpoint
DROP FUNCTION berth_has_watchers();--> statement-breakpoint
-- Counts the changes of the columns on which statuses depend when they are read (src/hub/store/deployments/status.ts). A sweep
-- compares the numbers, so it also finds a listener whose state has changed back.
CREATE FUNCTION berth_count_listener_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.state_version := OLD.state_version + 1;
  RETURN NEW;
END
$$;--> statement-breakpoint
CREATE TRIGGER count_state BEFORE UPDATE ON "listeners" FOR EACH ROW WHEN (
  OLD.cluster_reachable <> NEW.cluster_reachable OR OLD.awaits_inventory <> NEW.awaits_inventory
  OR OLD.loss_recorded <> NEW.loss_recorded OR OLD.unreadable IS DISTINCT FROM NEW.unreadable
  OR OLD.compute_config IS DISTINCT FROM NEW.compute_config)
EXECUTE FUNCTION berth_count_listener_state();--> statement-breakpoint
DROP TRIGGER send_hint ON "listeners";--> statement-breakpoint
CREATE TRIGGER send_hint AFTER UPDATE ON "listeners" FOR EACH ROW WHEN (OLD.state_version <> NEW.state_version)
EXECUTE FUNCTION berth_hint_of_listener();

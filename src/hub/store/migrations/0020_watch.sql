CREATE TABLE "change_watchers" (
	"id" uuid PRIMARY KEY NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "listeners" ADD COLUMN "abilities" text[];--> statement-breakpoint
ALTER TABLE "log_requests" ADD COLUMN "kind" text DEFAULT 'logs' NOT NULL;--> statement-breakpoint
ALTER TABLE "log_requests" ADD COLUMN "awaits_listener" boolean DEFAULT false NOT NULL;--> statement-breakpoint
-- Hints for streams of changes (docs/decisions/0121-stream-changes-as-hints.md). Transactions with a notification commit one at a
-- time, so hints are sent only while a process has streams.
CREATE FUNCTION berth_has_watchers() RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM change_watchers WHERE expires_at > now())
$$;--> statement-breakpoint
-- The payload has four words: the tenant (`*`: every tenant), the deployment (`-`: none, `all`: read everything again), its
-- generation, and the transaction. PostgreSQL sends equal payloads of a transaction once, so a transaction that writes a row and an
-- event sends one hint.
CREATE FUNCTION berth_send_hint(tenant uuid, deployment text, generation integer) RETURNS void LANGUAGE sql AS $$
  SELECT pg_notify('berth_changes', concat_ws(' ', coalesce(tenant::text, '*'), deployment,
    coalesce(generation::text, '-'), pg_current_xact_id()::text))
$$;--> statement-breakpoint
-- For rows that name a deployment and do not have its generation.
CREATE FUNCTION berth_hint_of_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF berth_has_watchers() THEN
    PERFORM berth_send_hint(NEW.tenant_id, coalesce(NEW.deployment_id::text, '-'),
      (SELECT d.generation FROM deployments d WHERE d.id = NEW.deployment_id));
  END IF;
  RETURN NULL;
END
$$;--> statement-breakpoint
CREATE TRIGGER send_hint AFTER INSERT ON "events" FOR EACH ROW WHEN (NEW.tenant_id IS NOT NULL)
EXECUTE FUNCTION berth_hint_of_part();--> statement-breakpoint
CREATE FUNCTION berth_hint_of_deployment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF berth_has_watchers() THEN
    PERFORM berth_send_hint(NEW.tenant_id, NEW.id::text, NEW.generation);
  END IF;
  RETURN NULL;
END
$$;--> statement-breakpoint
-- Observations that write no event. Columns that only listeners use, such as those of the work queue, send no hint.
CREATE TRIGGER send_hint AFTER UPDATE ON "deployments" FOR EACH ROW WHEN (
  OLD.generation <> NEW.generation OR OLD.latest_revision_id IS DISTINCT FROM NEW.latest_revision_id
  OR OLD.active_revision_id IS DISTINCT FROM NEW.active_revision_id
  OR OLD.observed_generation IS DISTINCT FROM NEW.observed_generation
  OR OLD.conditions IS DISTINCT FROM NEW.conditions OR OLD.url IS DISTINCT FROM NEW.url
  OR OLD.observed_domains IS DISTINCT FROM NEW.observed_domains OR OLD.observed_off <> NEW.observed_off
  OR OLD.data_ready <> NEW.data_ready OR OLD.has_runnable_revision <> NEW.has_runnable_revision
  OR OLD.in_place_failure IS DISTINCT FROM NEW.in_place_failure OR OLD.symptoms IS DISTINCT FROM NEW.symptoms
  OR OLD.volume_gi IS DISTINCT FROM NEW.volume_gi)
EXECUTE FUNCTION berth_hint_of_deployment();--> statement-breakpoint
CREATE TRIGGER send_hint AFTER UPDATE ON "revisions" FOR EACH ROW WHEN (
  OLD.status <> NEW.status OR OLD.reason IS DISTINCT FROM NEW.reason OR OLD.message IS DISTINCT FROM NEW.message
  OR OLD.culprit IS DISTINCT FROM NEW.culprit OR OLD.build IS DISTINCT FROM NEW.build
  OR OLD.resolved_image IS DISTINCT FROM NEW.resolved_image)
EXECUTE FUNCTION berth_hint_of_part();--> statement-breakpoint
CREATE FUNCTION berth_hint_of_listener() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF berth_has_watchers() THEN
    PERFORM berth_send_hint(NEW.tenant_id, 'all', NULL);
  END IF;
  RETURN NULL;
END
$$;--> statement-breakpoint
-- Statuses depend on these columns of the listener when they are read (src/hub/store/deployments/status.ts).
CREATE TRIGGER send_hint AFTER UPDATE ON "listeners" FOR EACH ROW WHEN (
  OLD.cluster_reachable <> NEW.cluster_reachable OR OLD.awaits_inventory <> NEW.awaits_inventory
  OR OLD.loss_recorded <> NEW.loss_recorded OR OLD.unreadable IS DISTINCT FROM NEW.unreadable
  OR OLD.compute_config IS DISTINCT FROM NEW.compute_config)
EXECUTE FUNCTION berth_hint_of_listener();

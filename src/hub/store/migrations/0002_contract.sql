CREATE TABLE "outbox" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"subject_id" uuid NOT NULL,
	"payload" jsonb NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_error" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "integrations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"name" text NOT NULL,
	"provider" text NOT NULL,
	"host_url" text NOT NULL,
	"key_id" text NOT NULL,
	"sealed" "bytea" NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "events" DROP CONSTRAINT "events_tenant_id_tenants_id_fk";--> statement-breakpoint
ALTER TABLE "listeners" ADD COLUMN "cluster_id" text;--> statement-breakpoint
ALTER TABLE "listeners" ADD COLUMN "unknown_resources" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "listeners" ADD COLUMN "unreadable" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "quota_cpu_m" bigint;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "quota_memory_mb" bigint;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "quota_storage_gi" bigint;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "purge_after" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "handed_out" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "tombstones" ADD COLUMN "env_revisions" integer[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "revisions" ADD COLUMN "culprit" jsonb;--> statement-breakpoint
ALTER TABLE "tracing_projects" ADD COLUMN "backend_id" text;--> statement-breakpoint
ALTER TABLE "tracing_projects" ADD COLUMN "backend_synced_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "revision_id" uuid;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "expires_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "listeners" ADD COLUMN "lost_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "quotas" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "integrations" ADD CONSTRAINT "integrations_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "outbox_due" ON "outbox" USING btree ("next_attempt_at");--> statement-breakpoint
CREATE INDEX "outbox_by_subject" ON "outbox" USING btree ("subject_id","id");--> statement-breakpoint
CREATE INDEX "tracing_projects_unsynced" ON "tracing_projects" USING btree ("id") WHERE "tracing_projects"."backend_synced_at" IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "integrations_name" ON "integrations" USING btree ("tenant_id","name");--> statement-breakpoint
CREATE INDEX "integrations_by_key" ON "integrations" USING btree ("key_id");--> statement-breakpoint
DO $$
DECLARE
  protected text;
BEGIN
  FOREACH protected IN ARRAY ARRAY['integrations', 'outbox']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', protected);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', protected);
    EXECUTE format('CREATE POLICY tenant ON %I USING ((SELECT berth_all_tenants()) OR tenant_id = (SELECT berth_tenant_id()))', protected);
  END LOOP;
END
$$;
--> statement-breakpoint
-- On behalf of a tenant, history is read and added to, never changed; what a tenant may use is the platform's to set.
DROP POLICY tenant ON events;
--> statement-breakpoint
CREATE POLICY platform ON events USING ((SELECT berth_all_tenants()));
--> statement-breakpoint
CREATE POLICY tenant_reads ON events FOR SELECT USING (tenant_id = (SELECT berth_tenant_id()));
--> statement-breakpoint
CREATE POLICY tenant_adds ON events FOR INSERT WITH CHECK (tenant_id = (SELECT berth_tenant_id()));
--> statement-breakpoint
DROP POLICY tenant ON tenants;
--> statement-breakpoint
CREATE POLICY platform ON tenants USING ((SELECT berth_all_tenants()));
--> statement-breakpoint
CREATE POLICY tenant_reads ON tenants FOR SELECT USING (id = (SELECT berth_tenant_id()));
--> statement-breakpoint
-- A row may be locked by whoever may update it: so it may be, to nothing.
CREATE POLICY tenant_locks ON tenants FOR UPDATE USING (id = (SELECT berth_tenant_id())) WITH CHECK (false);

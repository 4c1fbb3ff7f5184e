CREATE TABLE "build_logs" (
	"tenant_id" uuid NOT NULL,
	"revision_id" uuid NOT NULL,
	"first_line" integer NOT NULL,
	"lines" jsonb NOT NULL,
	CONSTRAINT "build_logs_revision_id_first_line_pk" PRIMARY KEY("revision_id","first_line")
);
--> statement-breakpoint
CREATE TABLE "leaving_hosts" (
	"host" text PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"deployment_id" uuid NOT NULL,
	"generation" integer NOT NULL,
	"clear" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_chunks" (
	"tenant_id" uuid NOT NULL,
	"request_id" uuid NOT NULL,
	"seq" integer NOT NULL,
	"body" text NOT NULL,
	"last" boolean DEFAULT false NOT NULL,
	CONSTRAINT "log_chunks_request_id_seq_pk" PRIMARY KEY("request_id","seq")
);
--> statement-breakpoint
CREATE TABLE "log_requests" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"deployment_id" uuid NOT NULL,
	"listener_id" uuid NOT NULL,
	"query" jsonb NOT NULL,
	"taken" boolean DEFAULT false NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "repository_cleanings" (
	"deployment_id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"app_name" text NOT NULL,
	"whole" boolean DEFAULT false NOT NULL,
	"next_attempt_at" timestamp with time zone DEFAULT now() NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"tenant_id" uuid NOT NULL,
	"integration_id" uuid NOT NULL,
	"delivery_id" text NOT NULL,
	"received_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "webhook_deliveries_integration_id_delivery_id_pk" PRIMARY KEY("integration_id","delivery_id")
);
--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "in_place_failure" jsonb;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "volume_gi" integer;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "next_poll_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "keep_workloads" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "branch_watch" jsonb;--> statement-breakpoint
ALTER TABLE "revisions" ADD COLUMN "environment_gone" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "revisions" ADD COLUMN "build" jsonb;--> statement-breakpoint
ALTER TABLE "revisions" ADD COLUMN "started_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "integrations" ADD COLUMN "webhook_key_id" text;--> statement-breakpoint
ALTER TABLE "integrations" ADD COLUMN "webhook_sealed" "bytea";--> statement-breakpoint
ALTER TABLE "build_logs" ADD CONSTRAINT "build_logs_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "build_logs" ADD CONSTRAINT "build_logs_revision_id_revisions_id_fk" FOREIGN KEY ("revision_id") REFERENCES "public"."revisions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "leaving_hosts" ADD CONSTRAINT "leaving_hosts_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "leaving_hosts" ADD CONSTRAINT "leaving_hosts_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "log_chunks" ADD CONSTRAINT "log_chunks_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "log_chunks" ADD CONSTRAINT "log_chunks_request_id_log_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."log_requests"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "log_requests" ADD CONSTRAINT "log_requests_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "log_requests" ADD CONSTRAINT "log_requests_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "log_requests" ADD CONSTRAINT "log_requests_listener_id_listeners_id_fk" FOREIGN KEY ("listener_id") REFERENCES "public"."listeners"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_integration_id_integrations_id_fk" FOREIGN KEY ("integration_id") REFERENCES "public"."integrations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "leaving_hosts_by_deployment" ON "leaving_hosts" USING btree ("deployment_id");--> statement-breakpoint
CREATE INDEX "log_requests_by_listener" ON "log_requests" USING btree ("listener_id");--> statement-breakpoint
CREATE INDEX "log_requests_by_expiry" ON "log_requests" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "repository_cleanings_due" ON "repository_cleanings" USING btree ("next_attempt_at");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_by_age" ON "webhook_deliveries" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX "deployments_polled" ON "deployments" USING btree ("next_poll_at") WHERE "deployments"."next_poll_at" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "deployments_by_repository" ON "deployments" USING btree ("tenant_id",("source_config" ->> 'integration_id')) WHERE "deployments"."source" = 'git_host' AND "deployments"."delete_requested_at" IS NULL;--> statement-breakpoint
CREATE INDEX "revisions_with_environment" ON "revisions" USING btree ("deployment_id","number") WHERE "revisions"."secrets_id" IS NOT NULL AND NOT "revisions"."environment_gone";--> statement-breakpoint
DO $$
DECLARE
  protected text;
BEGIN
  FOREACH protected IN ARRAY ARRAY['build_logs', 'webhook_deliveries', 'log_requests', 'log_chunks', 'leaving_hosts', 'repository_cleanings']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', protected);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', protected);
    EXECUTE format('CREATE POLICY tenant ON %I USING ((SELECT berth_all_tenants()) OR tenant_id = (SELECT berth_tenant_id()))', protected);
  END LOOP;
END
$$;

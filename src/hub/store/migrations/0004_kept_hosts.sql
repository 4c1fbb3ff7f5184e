CREATE TABLE "kept_hosts" (
	"host" text PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"deployment_ids" uuid[] NOT NULL,
	"kept_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "kept_hosts_by_tenant" ON "kept_hosts" USING btree ("tenant_id");--> statement-breakpoint
ALTER TABLE "kept_hosts" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "kept_hosts" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE POLICY tenant ON "kept_hosts" USING ((SELECT berth_all_tenants()) OR tenant_id = (SELECT berth_tenant_id()));--> statement-breakpoint
ALTER TABLE "log_requests" ADD COLUMN "needs" text;--> statement-breakpoint
ALTER TABLE "log_requests" ADD COLUMN "http_request_id" text;--> statement-breakpoint
ALTER TABLE "tombstones" ADD COLUMN "kept_workloads" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "tombstones" ADD COLUMN "keep_workloads" boolean DEFAULT false NOT NULL;

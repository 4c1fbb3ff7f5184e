CREATE TABLE "tasks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"deployment_id" uuid NOT NULL,
	"listener_id" uuid NOT NULL,
	"name" text NOT NULL,
	"namespace" text NOT NULL,
	"app_name" text NOT NULL,
	"resource_uid" text,
	"origin" text NOT NULL,
	"revision_id" uuid,
	"revision_number" integer,
	"component" text NOT NULL,
	"command" jsonb NOT NULL,
	"timeout_seconds" integer NOT NULL,
	"cpu" double precision,
	"memory_mb" integer,
	"state" text DEFAULT 'QUEUED' NOT NULL,
	"reason" text,
	"message" text,
	"exit_code" integer,
	"seen_epoch" bigint,
	"handed_out_at" timestamp with time zone,
	"cancel_requested_at" timestamp with time zone,
	"actor_kind" text NOT NULL,
	"actor_id" text,
	"actor_name" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp with time zone,
	"ended_at" timestamp with time zone
);
--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "tasks_by_deployment" ON "tasks" USING btree ("deployment_id","id");--> statement-breakpoint
CREATE INDEX "tasks_running_by_listener" ON "tasks" USING btree ("listener_id") WHERE "tasks"."ended_at" IS NULL;--> statement-breakpoint
CREATE INDEX "tasks_running_by_tenant" ON "tasks" USING btree ("tenant_id") WHERE "tasks"."ended_at" IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "tasks_by_resource" ON "tasks" USING btree ("deployment_id","resource_uid");--> statement-breakpoint
ALTER TABLE "tasks" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "tasks" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE POLICY tenant ON "tasks" USING ((SELECT berth_all_tenants()) OR tenant_id = (SELECT berth_tenant_id()));

CREATE TABLE "deployments" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"name" text NOT NULL,
	"source" text NOT NULL,
	"deployment_type" text,
	"source_config" jsonb NOT NULL,
	"source_revision_config" jsonb NOT NULL,
	"secrets_id" uuid,
	"route_host" text,
	"image_version" text,
	"app_name" text NOT NULL,
	"namespace" text NOT NULL,
	"listener_id" uuid NOT NULL,
	"tracing_project_id" uuid NOT NULL,
	"generation" integer DEFAULT 1 NOT NULL,
	"latest_revision_id" uuid,
	"active_revision_id" uuid,
	"has_runnable_revision" boolean NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	"delete_requested_at" timestamp with time zone,
	"delete_tracing_project" boolean DEFAULT false NOT NULL,
	"acknowledged_generation" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp with time zone DEFAULT now() NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"spec_hash" text,
	"observed_generation" integer,
	"conditions" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"url" text,
	"observed_off" boolean DEFAULT false NOT NULL,
	"data_ready" boolean DEFAULT false NOT NULL,
	"observed_at" timestamp with time zone,
	"recorded_status" text GENERATED ALWAYS AS (CASE WHEN delete_requested_at IS NOT NULL THEN 'AWAITING_DELETE' WHEN NOT has_runnable_revision OR observed_off THEN 'UNUSED' WHEN NOT data_ready THEN 'AWAITING_DATABASE' ELSE 'READY' END) STORED NOT NULL
);
--> statement-breakpoint
CREATE TABLE "revisions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"deployment_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"status" text NOT NULL,
	"reason" text,
	"message" text,
	"source_revision_config" jsonb NOT NULL,
	"secrets_id" uuid,
	"resolved_image" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	"deployed_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "secret_sets" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"deployment_id" uuid NOT NULL,
	"key_id" text NOT NULL,
	"sealed" "bytea" NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tombstones" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"listener_id" uuid NOT NULL,
	"name" text NOT NULL,
	"app_name" text NOT NULL,
	"namespace" text NOT NULL,
	"generation" integer NOT NULL,
	"purged_at" timestamp with time zone DEFAULT now() NOT NULL,
	"due" boolean DEFAULT false NOT NULL,
	"next_attempt_at" timestamp with time zone DEFAULT now() NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tracing_projects" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "events" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid,
	"deployment_id" uuid,
	"revision_id" uuid,
	"listener_id" uuid,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" uuid,
	"actor_name" text,
	"reason" text NOT NULL,
	"message" text NOT NULL,
	"details" jsonb DEFAULT '{}'::jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"tenant_id" uuid NOT NULL,
	"key" text NOT NULL,
	"operation" text NOT NULL,
	"fingerprint" text NOT NULL,
	"status_code" integer NOT NULL,
	"deployment_id" uuid NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_tenant_id_key_operation_pk" PRIMARY KEY("tenant_id","key","operation")
);
--> statement-breakpoint
CREATE TABLE "listeners" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid,
	"compute_type" text DEFAULT 'k8s' NOT NULL,
	"compute_id" text NOT NULL,
	"compute_config" jsonb NOT NULL,
	"version" text,
	"cluster_version" text,
	"cluster_reachable" boolean DEFAULT true NOT NULL,
	"rendering" jsonb,
	"lease_holder" text,
	"lease_epoch" bigint DEFAULT 0 NOT NULL,
	"lease_expires_at" timestamp with time zone,
	"report_seq" bigint DEFAULT 0 NOT NULL,
	"last_seen_at" timestamp with time zone,
	"ever_seen" boolean DEFAULT false NOT NULL,
	"loss_recorded" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deployment_tag_values" (
	"tenant_id" uuid NOT NULL,
	"deployment_id" uuid NOT NULL,
	"tag_key_id" uuid NOT NULL,
	"tag_value_id" uuid NOT NULL,
	CONSTRAINT "deployment_tag_values_deployment_id_tag_value_id_pk" PRIMARY KEY("deployment_id","tag_value_id")
);
--> statement-breakpoint
CREATE TABLE "tag_keys" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"key" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tag_values" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"tag_key_id" uuid NOT NULL,
	"value" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid,
	"name" text NOT NULL,
	"prefix" text NOT NULL,
	"hash" text NOT NULL,
	"scopes" text[] NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"revoked_at" timestamp with time zone,
	"last_used_at" timestamp with time zone,
	CONSTRAINT "api_keys_hash" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "tenants" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tenants_name" UNIQUE("name")
);
--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_listener_id_listeners_id_fk" FOREIGN KEY ("listener_id") REFERENCES "public"."listeners"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_tracing_project_id_tracing_projects_id_fk" FOREIGN KEY ("tracing_project_id") REFERENCES "public"."tracing_projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "revisions" ADD CONSTRAINT "revisions_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "revisions" ADD CONSTRAINT "revisions_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "secret_sets" ADD CONSTRAINT "secret_sets_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "secret_sets" ADD CONSTRAINT "secret_sets_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tracing_projects" ADD CONSTRAINT "tracing_projects_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "listeners" ADD CONSTRAINT "listeners_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployment_tag_values" ADD CONSTRAINT "deployment_tag_values_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployment_tag_values" ADD CONSTRAINT "deployment_tag_values_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployment_tag_values" ADD CONSTRAINT "deployment_tag_values_tag_value_id_tag_values_id_fk" FOREIGN KEY ("tag_value_id") REFERENCES "public"."tag_values"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tag_keys" ADD CONSTRAINT "tag_keys_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tag_values" ADD CONSTRAINT "tag_values_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tag_values" ADD CONSTRAINT "tag_values_tag_key_id_tag_keys_id_fk" FOREIGN KEY ("tag_key_id") REFERENCES "public"."tag_keys"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "deployments_name" ON "deployments" USING btree ("tenant_id","name") WHERE "deployments"."delete_requested_at" IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "deployments_route_host" ON "deployments" USING btree ("route_host") WHERE "deployments"."route_host" IS NOT NULL AND "deployments"."delete_requested_at" IS NULL;--> statement-breakpoint
CREATE INDEX "deployments_newest" ON "deployments" USING btree ("tenant_id","id");--> statement-breakpoint
CREATE INDEX "deployments_by_name" ON "deployments" USING btree ("tenant_id","name");--> statement-breakpoint
CREATE INDEX "deployments_by_status" ON "deployments" USING btree ("tenant_id","recorded_status","id");--> statement-breakpoint
CREATE INDEX "deployments_by_image_version" ON "deployments" USING btree ("tenant_id","image_version","id");--> statement-breakpoint
CREATE INDEX "deployments_by_type" ON "deployments" USING btree ("tenant_id","deployment_type","id");--> statement-breakpoint
CREATE INDEX "deployments_unreconciled" ON "deployments" USING btree ("tenant_id","id") WHERE "deployments"."observed_generation" IS DISTINCT FROM "deployments"."generation";--> statement-breakpoint
CREATE INDEX "deployments_due" ON "deployments" USING btree ("listener_id","next_attempt_at") WHERE "deployments"."generation" > "deployments"."acknowledged_generation";--> statement-breakpoint
CREATE INDEX "deployments_by_listener" ON "deployments" USING btree ("listener_id","id");--> statement-breakpoint
CREATE INDEX "deployments_by_tracing_project" ON "deployments" USING btree ("tracing_project_id");--> statement-breakpoint
CREATE UNIQUE INDEX "revisions_number" ON "revisions" USING btree ("deployment_id","number");--> statement-breakpoint
CREATE INDEX "secret_sets_by_deployment" ON "secret_sets" USING btree ("deployment_id");--> statement-breakpoint
CREATE INDEX "secret_sets_by_key" ON "secret_sets" USING btree ("key_id");--> statement-breakpoint
CREATE INDEX "tombstones_due" ON "tombstones" USING btree ("listener_id","next_attempt_at") WHERE "tombstones"."due";--> statement-breakpoint
CREATE INDEX "tombstones_by_age" ON "tombstones" USING btree ("purged_at");--> statement-breakpoint
CREATE UNIQUE INDEX "tracing_projects_name" ON "tracing_projects" USING btree ("tenant_id","name");--> statement-breakpoint
CREATE INDEX "events_by_deployment" ON "events" USING btree ("deployment_id","id");--> statement-breakpoint
CREATE INDEX "events_by_tenant" ON "events" USING btree ("tenant_id","id");--> statement-breakpoint
CREATE INDEX "idempotency_keys_by_expiry" ON "idempotency_keys" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "listeners_compute_id" ON "listeners" USING btree ("tenant_id","compute_id");--> statement-breakpoint
CREATE UNIQUE INDEX "listeners_platform_compute_id" ON "listeners" USING btree ("compute_id") WHERE "listeners"."tenant_id" IS NULL;--> statement-breakpoint
CREATE INDEX "deployment_tag_values_by_value" ON "deployment_tag_values" USING btree ("tag_value_id","deployment_id","tag_key_id");--> statement-breakpoint
CREATE UNIQUE INDEX "tag_keys_key" ON "tag_keys" USING btree ("tenant_id","key");--> statement-breakpoint
CREATE UNIQUE INDEX "tag_values_value" ON "tag_values" USING btree ("tag_key_id","value");
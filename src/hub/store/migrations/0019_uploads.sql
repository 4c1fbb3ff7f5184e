CREATE TABLE "uploads" (
	"deployment_id" uuid NOT NULL,
	"digest" text NOT NULL,
	"tenant_id" uuid NOT NULL,
	"bytes" bigint NOT NULL,
	"stored" boolean DEFAULT false NOT NULL,
	"removing" boolean DEFAULT false NOT NULL,
	"sent_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "uploads_deployment_id_digest_pk" PRIMARY KEY("deployment_id","digest")
);
--> statement-breakpoint
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "uploads_by_tenant" ON "uploads" USING btree ("tenant_id");--> statement-breakpoint
ALTER TABLE "uploads" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "uploads" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE POLICY tenant ON "uploads" USING ((SELECT berth_all_tenants()) OR tenant_id = (SELECT berth_tenant_id()));

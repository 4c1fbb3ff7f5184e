CREATE TABLE "access_tokens" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid,
	"kind" text NOT NULL,
	"person_id" uuid,
	"name" text NOT NULL,
	"rule" text,
	"roles" text[] NOT NULL,
	"prefix" text NOT NULL,
	"hash" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"revoked_at" timestamp with time zone,
	"last_used_at" timestamp with time zone,
	CONSTRAINT "access_tokens_hash" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "device_logins" (
	"id" uuid PRIMARY KEY NOT NULL,
	"hash" text NOT NULL,
	"user_code" text NOT NULL,
	"state" text DEFAULT 'pending' NOT NULL,
	"machine" text NOT NULL,
	"address" text NOT NULL,
	"requested_tenant" text,
	"requested_role" text,
	"person_id" uuid,
	"tenant_id" uuid,
	"roles" text[],
	"token_id" uuid,
	"poll_seconds" integer NOT NULL,
	"polled_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "device_logins_hash" UNIQUE("hash"),
	CONSTRAINT "device_logins_user_code" UNIQUE("user_code")
);
--> statement-breakpoint
ALTER TABLE "access_tokens" ADD CONSTRAINT "access_tokens_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "access_tokens" ADD CONSTRAINT "access_tokens_person_id_people_id_fk" FOREIGN KEY ("person_id") REFERENCES "public"."people"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "device_logins" ADD CONSTRAINT "device_logins_person_id_people_id_fk" FOREIGN KEY ("person_id") REFERENCES "public"."people"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "device_logins" ADD CONSTRAINT "device_logins_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "device_logins" ADD CONSTRAINT "device_logins_token_id_access_tokens_id_fk" FOREIGN KEY ("token_id") REFERENCES "public"."access_tokens"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "access_tokens_by_tenant" ON "access_tokens" USING btree ("tenant_id","id");--> statement-breakpoint
CREATE INDEX "access_tokens_by_person" ON "access_tokens" USING btree ("person_id","id");--> statement-breakpoint
CREATE INDEX "access_tokens_by_expiry" ON "access_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "device_logins_by_expiry" ON "device_logins" USING btree ("expires_at");--> statement-breakpoint
ALTER TABLE "access_tokens" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "access_tokens" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE POLICY tenant ON "access_tokens" USING ((SELECT berth_all_tenants()) OR tenant_id = (SELECT berth_tenant_id()));--> statement-breakpoint
ALTER TABLE "device_logins" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "device_logins" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE POLICY tenant ON "device_logins" USING ((SELECT berth_all_tenants()) OR tenant_id = (SELECT berth_tenant_id()));

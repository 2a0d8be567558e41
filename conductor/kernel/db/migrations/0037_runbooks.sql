CREATE TABLE "runbook_steps" (
	"runbook_uuid" uuid NOT NULL,
	"position" integer NOT NULL,
	"interface" text NOT NULL,
	"step" text NOT NULL,
	"args" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"order" integer NOT NULL,
	CONSTRAINT "runbook_steps_runbookUuid_position_unique" UNIQUE("runbook_uuid","position")
);
--> statement-breakpoint
CREATE TABLE "runbooks" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "runbooks_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"uuid" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"disable_ramdisk" boolean DEFAULT false NOT NULL,
	"public" boolean DEFAULT false NOT NULL,
	"owner" text,
	"extra" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone,
	CONSTRAINT "runbooks_id_unique" UNIQUE("id"),
	CONSTRAINT "runbooks_name_unique" UNIQUE("name")
);
--> statement-breakpoint
ALTER TABLE "runbook_steps" ADD CONSTRAINT "runbook_steps_runbook_uuid_runbooks_uuid_fk" FOREIGN KEY ("runbook_uuid") REFERENCES "public"."runbooks"("uuid") ON DELETE cascade ON UPDATE no action;
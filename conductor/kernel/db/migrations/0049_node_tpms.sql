CREATE TABLE "node_tpms" (
	"node_uuid" uuid PRIMARY KEY NOT NULL,
	"ek_public" text NOT NULL,
	"ek_certificate" text,
	"accepted_boot" jsonb,
	"accepted_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"accepted_by" text,
	"seen_boot" jsonb,
	"seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"verdict" text NOT NULL,
	"reasons" jsonb NOT NULL,
	"trusted_at" timestamp (3) with time zone,
	"other_ek_public" text,
	"other_ek_certificate" text,
	"other_boot" jsonb,
	"other_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "node_tpms" ADD CONSTRAINT "node_tpms_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;
CREATE TABLE "allocations" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "allocations_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"uuid" uuid PRIMARY KEY NOT NULL,
	"name" text,
	"state" text NOT NULL,
	"last_error" text,
	"resource_class" text NOT NULL,
	"traits" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"candidate_nodes" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"extra" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"owner" text,
	"node_uuid" uuid,
	"conductor" text,
	"token" bigint DEFAULT 1 NOT NULL,
	"wait_until" timestamp (3) with time zone,
	"waiting_for" text,
	"group_uuid" uuid,
	"min_count" integer,
	"placement" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone,
	CONSTRAINT "allocations_id_unique" UNIQUE("id"),
	CONSTRAINT "allocations_name_unique" UNIQUE("name"),
	CONSTRAINT "allocations_nodeUuid_unique" UNIQUE("node_uuid")
);
--> statement-breakpoint
CREATE TABLE "api_tokens" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "api_tokens_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"uuid" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"digest" text NOT NULL,
	"role" text NOT NULL,
	"project" text,
	"created_by" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	CONSTRAINT "api_tokens_id_unique" UNIQUE("id"),
	CONSTRAINT "api_tokens_name_unique" UNIQUE("name"),
	CONSTRAINT "api_tokens_digest_unique" UNIQUE("digest")
);
--> statement-breakpoint
CREATE TABLE "chassis" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "chassis_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"uuid" uuid PRIMARY KEY NOT NULL,
	"description" text,
	"extra" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone,
	CONSTRAINT "chassis_id_unique" UNIQUE("id")
);
--> statement-breakpoint
CREATE TABLE "conductors" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "conductors_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"hostname" text PRIMARY KEY NOT NULL,
	"conductor_group" text DEFAULT '' NOT NULL,
	"drivers" jsonb NOT NULL,
	"public_url" text NOT NULL,
	"generation" bigint DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"stopped_at" timestamp (3) with time zone,
	CONSTRAINT "conductors_id_unique" UNIQUE("id")
);
--> statement-breakpoint
CREATE TABLE "portgroups" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "portgroups_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"uuid" uuid PRIMARY KEY NOT NULL,
	"node_uuid" uuid NOT NULL,
	"name" text,
	"address" text,
	"mode" text DEFAULT 'active-backup' NOT NULL,
	"properties" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"standalone_ports_supported" boolean DEFAULT true NOT NULL,
	"extra" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone,
	CONSTRAINT "portgroups_id_unique" UNIQUE("id"),
	CONSTRAINT "portgroups_name_unique" UNIQUE("name"),
	CONSTRAINT "portgroups_address_unique" UNIQUE("address")
);
--> statement-breakpoint
ALTER TABLE "node_history" ADD COLUMN "project" text;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "allocation_uuid" uuid;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "chassis_uuid" uuid;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "boot_mode" text;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "secure_boot" boolean;--> statement-breakpoint
ALTER TABLE "ports" ADD COLUMN "portgroup_uuid" uuid;--> statement-breakpoint
ALTER TABLE "portgroups" ADD CONSTRAINT "portgroups_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "allocations_to_do" ON "allocations" USING btree ("conductor") WHERE state = 'allocating';--> statement-breakpoint
CREATE INDEX "allocations_group_uuid_index" ON "allocations" USING btree ("group_uuid");--> statement-breakpoint
CREATE INDEX "portgroups_node_uuid_index" ON "portgroups" USING btree ("node_uuid");--> statement-breakpoint
ALTER TABLE "nodes" ADD CONSTRAINT "nodes_allocation_uuid_allocations_uuid_fk" FOREIGN KEY ("allocation_uuid") REFERENCES "public"."allocations"("uuid") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "nodes" ADD CONSTRAINT "nodes_chassis_uuid_chassis_uuid_fk" FOREIGN KEY ("chassis_uuid") REFERENCES "public"."chassis"("uuid") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ports" ADD CONSTRAINT "ports_portgroup_uuid_portgroups_uuid_fk" FOREIGN KEY ("portgroup_uuid") REFERENCES "public"."portgroups"("uuid") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "nodes" ADD CONSTRAINT "nodes_allocationUuid_unique" UNIQUE("allocation_uuid");
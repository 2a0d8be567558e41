CREATE TABLE "plugins" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "plugins_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"name" text NOT NULL,
	"version" text NOT NULL,
	"title" text,
	"tasks_text" text NOT NULL,
	"tasks" jsonb NOT NULL,
	"files" jsonb NOT NULL,
	"created_by" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "plugins_name_version_pk" PRIMARY KEY("name","version"),
	CONSTRAINT "plugins_id_unique" UNIQUE("id")
);
--> statement-breakpoint
CREATE TABLE "site_contents" (
	"hash" text PRIMARY KEY NOT NULL,
	"text" text NOT NULL,
	"documents" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "site_credentials" (
	"name" text PRIMARY KEY NOT NULL,
	"username" text NOT NULL,
	"password" text NOT NULL,
	"updated_by" text,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "site_nodes" (
	"name" text PRIMARY KEY NOT NULL,
	"node_uuid" uuid NOT NULL,
	"revision_id" integer NOT NULL,
	"design_hash" text NOT NULL,
	"instance_uuid" uuid,
	"action_id" text NOT NULL,
	"deployed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "site_nodes_nodeUuid_unique" UNIQUE("node_uuid")
);
--> statement-breakpoint
CREATE TABLE "site_revision_collections" (
	"revision_id" integer NOT NULL,
	"collection" text NOT NULL,
	"content_hash" text NOT NULL,
	CONSTRAINT "site_revision_collections_revision_id_collection_pk" PRIMARY KEY("revision_id","collection")
);
--> statement-breakpoint
CREATE TABLE "site_revision_tags" (
	"revision_id" integer NOT NULL,
	"tag" text NOT NULL,
	"data" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_by" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "site_revision_tags_revision_id_tag_pk" PRIMARY KEY("revision_id","tag")
);
--> statement-breakpoint
CREATE TABLE "site_revisions" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "site_revisions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"rolled_back_to" integer,
	"created_by" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "site_action_commands" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "site_action_commands_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"action_id" text NOT NULL,
	"command" text NOT NULL,
	"user" text,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "site_action_groups" (
	"action_id" text NOT NULL,
	"position" integer NOT NULL,
	"name" text NOT NULL,
	"definition" jsonb NOT NULL,
	"members" jsonb NOT NULL,
	"stage" text DEFAULT 'not_started' NOT NULL,
	"reason" text,
	"misses" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"prepare_started_at" timestamp (3) with time zone,
	"deploy_started_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "site_action_groups_action_id_name_pk" PRIMARY KEY("action_id","name")
);
--> statement-breakpoint
CREATE TABLE "site_action_nodes" (
	"action_id" text NOT NULL,
	"name" text NOT NULL,
	"status" text DEFAULT 'not_started' NOT NULL,
	"phase" text,
	"group_name" text,
	"cancelling" text,
	"doing" text,
	"reason" text,
	"phase_started_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "site_action_nodes_action_id_name_pk" PRIMARY KEY("action_id","name")
);
--> statement-breakpoint
CREATE TABLE "site_action_notes" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "site_action_notes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"action_id" text NOT NULL,
	"step" text,
	"subject" text,
	"verbosity" integer DEFAULT 1 NOT NULL,
	"text" text NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "site_action_steps" (
	"action_id" text NOT NULL,
	"position" integer NOT NULL,
	"name" text NOT NULL,
	"state" text DEFAULT 'pending' NOT NULL,
	"started_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	"error" text,
	CONSTRAINT "site_action_steps_action_id_position_pk" PRIMARY KEY("action_id","position")
);
--> statement-breakpoint
CREATE TABLE "site_actions" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"parameters" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"state" text DEFAULT 'pending' NOT NULL,
	"wanted" text DEFAULT 'run' NOT NULL,
	"revision_id" integer NOT NULL,
	"user" text,
	"context_marker" text NOT NULL,
	"allow_intermediate_commits" boolean DEFAULT false NOT NULL,
	"validated" boolean DEFAULT false NOT NULL,
	"validations" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"error" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	"holder" text,
	"token" bigint DEFAULT 0 NOT NULL,
	"expires_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "flow_steps" ADD COLUMN "plugin" jsonb;--> statement-breakpoint
ALTER TABLE "flows" ADD COLUMN "action_id" text;--> statement-breakpoint
ALTER TABLE "site_nodes" ADD CONSTRAINT "site_nodes_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "site_revision_collections" ADD CONSTRAINT "site_revision_collections_revision_id_site_revisions_id_fk" FOREIGN KEY ("revision_id") REFERENCES "public"."site_revisions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "site_revision_collections" ADD CONSTRAINT "site_revision_collections_content_hash_site_contents_hash_fk" FOREIGN KEY ("content_hash") REFERENCES "public"."site_contents"("hash") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "site_revision_tags" ADD CONSTRAINT "site_revision_tags_revision_id_site_revisions_id_fk" FOREIGN KEY ("revision_id") REFERENCES "public"."site_revisions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "site_action_commands" ADD CONSTRAINT "site_action_commands_action_id_site_actions_id_fk" FOREIGN KEY ("action_id") REFERENCES "public"."site_actions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "site_action_groups" ADD CONSTRAINT "site_action_groups_action_id_site_actions_id_fk" FOREIGN KEY ("action_id") REFERENCES "public"."site_actions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "site_action_nodes" ADD CONSTRAINT "site_action_nodes_action_id_site_actions_id_fk" FOREIGN KEY ("action_id") REFERENCES "public"."site_actions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "site_action_notes" ADD CONSTRAINT "site_action_notes_action_id_site_actions_id_fk" FOREIGN KEY ("action_id") REFERENCES "public"."site_actions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "site_action_steps" ADD CONSTRAINT "site_action_steps_action_id_site_actions_id_fk" FOREIGN KEY ("action_id") REFERENCES "public"."site_actions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "site_action_commands_action_id_index" ON "site_action_commands" USING btree ("action_id");--> statement-breakpoint
CREATE INDEX "site_action_notes_action_id_id_index" ON "site_action_notes" USING btree ("action_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "one_open_site_action" ON "site_actions" USING btree ((true)) WHERE ended_at is null;--> statement-breakpoint
CREATE INDEX "site_actions_created_at_index" ON "site_actions" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "flows_action_id_index" ON "flows" USING btree ("action_id") WHERE action_id is not null;
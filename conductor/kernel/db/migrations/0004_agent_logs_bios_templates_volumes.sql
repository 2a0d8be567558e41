CREATE TABLE "agent_logs" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "agent_logs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"node_uuid" uuid NOT NULL,
	"flow_uuid" uuid,
	"content" "bytea" NOT NULL,
	"collected_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "agent_steps" (
	"node_uuid" uuid NOT NULL,
	"kind" text NOT NULL,
	"steps" jsonb NOT NULL,
	"hardware_manager_version" jsonb NOT NULL,
	"gathered_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "agent_steps_node_uuid_kind_pk" PRIMARY KEY("node_uuid","kind")
);
--> statement-breakpoint
CREATE TABLE "bios_settings" (
	"node_uuid" uuid NOT NULL,
	"name" text NOT NULL,
	"value" text,
	"attribute_type" text,
	"allowable_values" jsonb,
	"lower_bound" bigint,
	"upper_bound" bigint,
	"min_length" bigint,
	"max_length" bigint,
	"read_only" boolean,
	"reset_required" boolean,
	"unique" boolean,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone,
	CONSTRAINT "bios_settings_node_uuid_name_pk" PRIMARY KEY("node_uuid","name")
);
--> statement-breakpoint
CREATE TABLE "deploy_template_steps" (
	"template_uuid" uuid NOT NULL,
	"position" integer NOT NULL,
	"interface" text NOT NULL,
	"step" text NOT NULL,
	"args" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"priority" integer NOT NULL,
	CONSTRAINT "deploy_template_steps_templateUuid_position_unique" UNIQUE("template_uuid","position"),
	CONSTRAINT "deploy_template_steps_templateUuid_interface_step_unique" UNIQUE("template_uuid","interface","step")
);
--> statement-breakpoint
CREATE TABLE "deploy_templates" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "deploy_templates_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"uuid" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"extra" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone,
	CONSTRAINT "deploy_templates_id_unique" UNIQUE("id"),
	CONSTRAINT "deploy_templates_name_unique" UNIQUE("name")
);
--> statement-breakpoint
CREATE TABLE "node_inventory" (
	"node_uuid" uuid PRIMARY KEY NOT NULL,
	"inventory" jsonb NOT NULL,
	"plugin_data" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"collected_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "volume_connectors" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "volume_connectors_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"uuid" uuid PRIMARY KEY NOT NULL,
	"node_uuid" uuid NOT NULL,
	"extra" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone,
	"type" text NOT NULL,
	"connector_id" text NOT NULL,
	CONSTRAINT "volume_connectors_id_unique" UNIQUE("id"),
	CONSTRAINT "volume_connectors_type_connectorId_unique" UNIQUE("type","connector_id")
);
--> statement-breakpoint
CREATE TABLE "volume_targets" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "volume_targets_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"uuid" uuid PRIMARY KEY NOT NULL,
	"node_uuid" uuid NOT NULL,
	"extra" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone,
	"volume_type" text NOT NULL,
	"volume_id" text NOT NULL,
	"boot_index" integer NOT NULL,
	"properties" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "volume_targets_id_unique" UNIQUE("id"),
	CONSTRAINT "volume_targets_nodeUuid_bootIndex_unique" UNIQUE("node_uuid","boot_index")
);
--> statement-breakpoint
ALTER TABLE "flow_steps" ADD COLUMN "reason" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "flows" ADD COLUMN "plan_hash" text;--> statement-breakpoint
ALTER TABLE "flows" ADD COLUMN "restarts" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "flows" ADD COLUMN "on_hold" text;--> statement-breakpoint
ALTER TABLE "flows" ADD COLUMN "abort_requested" text;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "target_raid_config" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "raid_config" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "agent_logs" ADD CONSTRAINT "agent_logs_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agent_logs" ADD CONSTRAINT "agent_logs_flow_uuid_flows_uuid_fk" FOREIGN KEY ("flow_uuid") REFERENCES "public"."flows"("uuid") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agent_steps" ADD CONSTRAINT "agent_steps_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "bios_settings" ADD CONSTRAINT "bios_settings_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deploy_template_steps" ADD CONSTRAINT "deploy_template_steps_template_uuid_deploy_templates_uuid_fk" FOREIGN KEY ("template_uuid") REFERENCES "public"."deploy_templates"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "node_inventory" ADD CONSTRAINT "node_inventory_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "volume_connectors" ADD CONSTRAINT "volume_connectors_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "volume_targets" ADD CONSTRAINT "volume_targets_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "agent_logs_node_uuid_index" ON "agent_logs" USING btree ("node_uuid");--> statement-breakpoint
CREATE INDEX "flow_steps_interface_step_ended_at_index" ON "flow_steps" USING btree ("interface","step","ended_at");
CREATE TABLE "agent_sessions" (
	"node_uuid" uuid PRIMARY KEY NOT NULL,
	"token" text NOT NULL,
	"callback_url" text,
	"certificate" text,
	"version" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_heartbeat_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "flow_events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "flow_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"flow_uuid" uuid NOT NULL,
	"step_uuid" uuid NOT NULL,
	"event" text NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"detail" text,
	"conductor" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "flow_steps" (
	"uuid" uuid PRIMARY KEY NOT NULL,
	"flow_uuid" uuid NOT NULL,
	"phase" text NOT NULL,
	"position" integer NOT NULL,
	"interface" text NOT NULL,
	"step" text NOT NULL,
	"args" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"priority" integer NOT NULL,
	"origin" text NOT NULL,
	"in_band" boolean NOT NULL,
	"abortable" boolean DEFAULT false NOT NULL,
	"reboot_requested" boolean DEFAULT false NOT NULL,
	"state" text DEFAULT 'pending' NOT NULL,
	"started_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	"waiting_for" text,
	"wait_until" timestamp (3) with time zone,
	"run_again" boolean DEFAULT false NOT NULL,
	"progress" jsonb,
	"output" jsonb,
	"error" text
);
--> statement-breakpoint
CREATE TABLE "flows" (
	"uuid" uuid PRIMARY KEY NOT NULL,
	"node_uuid" uuid NOT NULL,
	"kind" text NOT NULL,
	"state" text NOT NULL,
	"requested_by" text,
	"requested_steps" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"hardware_manager_version" jsonb,
	"started_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"error" text,
	"next_check_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"nudges" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "config_drives" (
	"node_uuid" uuid PRIMARY KEY NOT NULL,
	"content" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "node_history" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "node_history_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"uuid" uuid PRIMARY KEY NOT NULL,
	"node_uuid" uuid NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"severity" text NOT NULL,
	"event_type" text NOT NULL,
	"event" text NOT NULL,
	"conductor" text NOT NULL,
	"user" text,
	CONSTRAINT "node_history_id_unique" UNIQUE("id")
);
--> statement-breakpoint
CREATE TABLE "node_leases" (
	"node_uuid" uuid PRIMARY KEY NOT NULL,
	"holder" text,
	"token" bigint NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "nodes" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "nodes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"uuid" uuid PRIMARY KEY NOT NULL,
	"name" text,
	"driver" text NOT NULL,
	"driver_info" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"properties" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"extra" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"instance_info" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"instance_uuid" uuid,
	"instance_name" text,
	"resource_class" text,
	"network_interface" text NOT NULL,
	"conductor_group" text DEFAULT '' NOT NULL,
	"owner" text,
	"lessee" text,
	"description" text,
	"shard" text,
	"automated_clean" boolean,
	"protected" boolean DEFAULT false NOT NULL,
	"protected_reason" text,
	"retired" boolean DEFAULT false NOT NULL,
	"retired_reason" text,
	"disable_power_off" boolean DEFAULT false NOT NULL,
	"network_data" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"provision_state" text NOT NULL,
	"target_provision_state" text,
	"provision_updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"power_state" text,
	"target_power_state" text,
	"power_failures" bigint DEFAULT 0 NOT NULL,
	"last_error" text,
	"maintenance" boolean DEFAULT false NOT NULL,
	"maintenance_reason" text,
	"fault" text,
	"inspection_started_at" timestamp (3) with time zone,
	"inspection_finished_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone,
	CONSTRAINT "nodes_id_unique" UNIQUE("id"),
	CONSTRAINT "nodes_name_unique" UNIQUE("name"),
	CONSTRAINT "nodes_instanceUuid_unique" UNIQUE("instance_uuid")
);
--> statement-breakpoint
CREATE TABLE "ports" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "ports_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"uuid" uuid PRIMARY KEY NOT NULL,
	"node_uuid" uuid NOT NULL,
	"address" text NOT NULL,
	"name" text,
	"description" text,
	"extra" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"local_link_connection" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"pxe_enabled" boolean DEFAULT true NOT NULL,
	"physical_network" text,
	"is_smartnic" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone,
	CONSTRAINT "ports_id_unique" UNIQUE("id"),
	CONSTRAINT "ports_address_unique" UNIQUE("address"),
	CONSTRAINT "ports_name_unique" UNIQUE("name")
);
--> statement-breakpoint
CREATE TABLE "switch_ports" (
	"port_uuid" uuid PRIMARY KEY NOT NULL,
	"network" text,
	"vlan" integer,
	"applied_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "agent_sessions" ADD CONSTRAINT "agent_sessions_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "flow_events" ADD CONSTRAINT "flow_events_flow_uuid_flows_uuid_fk" FOREIGN KEY ("flow_uuid") REFERENCES "public"."flows"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "flow_events" ADD CONSTRAINT "flow_events_step_uuid_flow_steps_uuid_fk" FOREIGN KEY ("step_uuid") REFERENCES "public"."flow_steps"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "flow_steps" ADD CONSTRAINT "flow_steps_flow_uuid_flows_uuid_fk" FOREIGN KEY ("flow_uuid") REFERENCES "public"."flows"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "flows" ADD CONSTRAINT "flows_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "config_drives" ADD CONSTRAINT "config_drives_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "node_history" ADD CONSTRAINT "node_history_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "node_leases" ADD CONSTRAINT "node_leases_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ports" ADD CONSTRAINT "ports_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "switch_ports" ADD CONSTRAINT "switch_ports_port_uuid_ports_uuid_fk" FOREIGN KEY ("port_uuid") REFERENCES "public"."ports"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "flow_events_flow_uuid_index" ON "flow_events" USING btree ("flow_uuid");--> statement-breakpoint
CREATE INDEX "flow_steps_flow_uuid_position_index" ON "flow_steps" USING btree ("flow_uuid","position");--> statement-breakpoint
CREATE UNIQUE INDEX "one_open_flow_per_node" ON "flows" USING btree ("node_uuid") WHERE ended_at is null;--> statement-breakpoint
CREATE INDEX "flows_to_check" ON "flows" USING btree ("next_check_at") WHERE ended_at is null;--> statement-breakpoint
CREATE INDEX "flows_node_uuid_index" ON "flows" USING btree ("node_uuid");--> statement-breakpoint
CREATE INDEX "node_history_node_uuid_index" ON "node_history" USING btree ("node_uuid");--> statement-breakpoint
CREATE INDEX "nodes_provision_state_index" ON "nodes" USING btree ("provision_state");--> statement-breakpoint
CREATE INDEX "ports_node_uuid_index" ON "ports" USING btree ("node_uuid");
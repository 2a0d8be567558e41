CREATE TABLE "node_boot_events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "node_boot_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"node_uuid" uuid NOT NULL,
	"event" text NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"detail" text,
	"bytes" bigint,
	"conductor" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "node_boot_events" ADD CONSTRAINT "node_boot_events_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "node_boot_events_node_uuid_id_index" ON "node_boot_events" USING btree ("node_uuid","id");
CREATE TABLE "node_firmware" (
	"node_uuid" uuid PRIMARY KEY NOT NULL,
	"components" jsonb NOT NULL,
	"read_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "node_firmware" ADD CONSTRAINT "node_firmware_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;
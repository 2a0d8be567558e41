CREATE TABLE "cluster_memberships" (
	"node_uuid" uuid PRIMARY KEY NOT NULL,
	"registrations" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"etcd_clusters" jsonb DEFAULT '[]'::jsonb NOT NULL
);
--> statement-breakpoint
ALTER TABLE "site_nodes" ADD COLUMN "in_service_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "cluster_memberships" ADD CONSTRAINT "cluster_memberships_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
UPDATE "site_nodes" SET "in_service_at" = "deployed_at";

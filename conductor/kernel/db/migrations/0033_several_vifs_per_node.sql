DROP INDEX "one_vif_per_node";--> statement-breakpoint
ALTER TABLE "node_vifs" ADD COLUMN "port_uuid" uuid;--> statement-breakpoint
ALTER TABLE "node_vifs" ADD COLUMN "portgroup_uuid" uuid;--> statement-breakpoint
ALTER TABLE "node_vifs" ADD CONSTRAINT "node_vifs_port_uuid_ports_uuid_fk" FOREIGN KEY ("port_uuid") REFERENCES "public"."ports"("uuid") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "node_vifs" ADD CONSTRAINT "node_vifs_portgroup_uuid_portgroups_uuid_fk" FOREIGN KEY ("portgroup_uuid") REFERENCES "public"."portgroups"("uuid") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "one_vif_of_a_name_per_node" ON "node_vifs" USING btree ("node_uuid","vif_id");--> statement-breakpoint
ALTER TABLE "node_vifs" ADD CONSTRAINT "node_vifs_portUuid_unique" UNIQUE("port_uuid");--> statement-breakpoint
ALTER TABLE "node_vifs" ADD CONSTRAINT "node_vifs_portgroupUuid_unique" UNIQUE("portgroup_uuid");
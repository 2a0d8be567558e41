ALTER TABLE "portgroups" ADD COLUMN "physical_network" text;--> statement-breakpoint
ALTER TABLE "portgroups" ADD COLUMN "category" text;--> statement-breakpoint
ALTER TABLE "portgroups" ADD COLUMN "dynamic_portgroup" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "ports" ADD COLUMN "vendor" text;--> statement-breakpoint
ALTER TABLE "ports" ADD COLUMN "category" text;--> statement-breakpoint
ALTER TABLE "ports" ADD COLUMN "available_for_dynamic_portgroup" boolean DEFAULT true NOT NULL;
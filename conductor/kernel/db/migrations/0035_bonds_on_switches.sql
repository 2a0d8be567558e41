ALTER TABLE "switch_ports" ADD COLUMN "bond" jsonb;--> statement-breakpoint
ALTER TABLE "switch_ports" ADD COLUMN "found_bond" jsonb;--> statement-breakpoint
ALTER TABLE "portgroups" ADD COLUMN "bond_number" integer;
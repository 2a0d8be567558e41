ALTER TABLE "switch_ports" ADD COLUMN "found" jsonb;--> statement-breakpoint
ALTER TABLE "switch_ports" ADD COLUMN "looked_at" timestamp (3) with time zone;
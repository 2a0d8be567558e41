ALTER TABLE "node_history" ADD COLUMN "state" text;--> statement-breakpoint
ALTER TABLE "node_history" ADD COLUMN "target_provision_state" text;--> statement-breakpoint
ALTER TABLE "node_history" ADD COLUMN "duration_seconds" integer;
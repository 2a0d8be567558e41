ALTER TABLE "site_action_groups" ADD COLUMN "prepared_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "site_action_nodes" ADD COLUMN "was_prepared" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "site_actions" ADD COLUMN "paused_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "site_actions" ADD COLUMN "max_parallel_groups" integer;
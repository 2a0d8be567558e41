ALTER TABLE "nodes" ADD COLUMN "instance_came_up" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "owed_wipe" jsonb;
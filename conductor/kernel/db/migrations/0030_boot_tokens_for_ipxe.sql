ALTER TABLE "agent_sessions" ADD COLUMN "boot_mac" text;--> statement-breakpoint
ALTER TABLE "agent_sessions" ADD COLUMN "boot_source" text;
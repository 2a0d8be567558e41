ALTER TABLE "nodes" ADD COLUMN "target_boot_mode" text;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "target_secure_boot" boolean;
ALTER TABLE "conductors" ADD COLUMN "knows" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "conductors" ADD COLUMN "knows_generation" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "site_actions" ADD COLUMN "needs" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "site_actions" ADD COLUMN "fit_token" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "site_actions" ADD COLUMN "clusters" jsonb;--> statement-breakpoint
ALTER TABLE "site_actions" ADD CONSTRAINT "claimed_by_who_knows" CHECK (needs = 0 or fit_token = token);
ALTER TABLE "flow_steps" ADD COLUMN "retry_until" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "flows" ADD COLUMN "held" text;
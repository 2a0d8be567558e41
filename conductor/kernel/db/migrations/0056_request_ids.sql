ALTER TABLE "flows" ADD COLUMN "request_id" text;--> statement-breakpoint
ALTER TABLE "flows" ADD COLUMN "global_request_id" text;--> statement-breakpoint
ALTER TABLE "node_history" ADD COLUMN "request_id" text;--> statement-breakpoint
ALTER TABLE "node_history" ADD COLUMN "global_request_id" text;
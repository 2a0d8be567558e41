ALTER TABLE "flows" ADD COLUMN "is_traced" boolean;--> statement-breakpoint
CREATE INDEX "flows_to_trace" ON "flows" USING btree ("ended_at") WHERE is_traced is null and ended_at is not null;
DROP INDEX "flows_to_check";--> statement-breakpoint
CREATE INDEX "flows_to_check" ON "flows" USING btree ("next_check_at") WHERE ended_at is null and next_check_at is not null;
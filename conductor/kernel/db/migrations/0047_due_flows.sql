CREATE INDEX "flows_to_check_new" ON "flows" USING btree ("next_check_at") WHERE ended_at is null and next_check_at is not null;--> statement-breakpoint
DROP INDEX "flows_to_check";--> statement-breakpoint
ALTER INDEX "flows_to_check_new" RENAME TO "flows_to_check";

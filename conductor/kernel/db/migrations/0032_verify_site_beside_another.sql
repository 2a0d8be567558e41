DROP INDEX "one_open_site_flow";--> statement-breakpoint
CREATE UNIQUE INDEX "one_open_site_flow" ON "flows" USING btree ((kind = 'verify_site')) WHERE ended_at is null and site_action_id is not null;
ALTER TABLE "flows" ALTER COLUMN "node_uuid" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "flows" ADD COLUMN "site_action_id" text;--> statement-breakpoint
ALTER TABLE "flows" ADD CONSTRAINT "flows_site_action_id_site_actions_id_fk" FOREIGN KEY ("site_action_id") REFERENCES "public"."site_actions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "flows" ADD CONSTRAINT "flows_siteActionId_unique" UNIQUE("site_action_id");--> statement-breakpoint
ALTER TABLE "flows" ADD CONSTRAINT "flow_has_one_subject" CHECK ((node_uuid is null) <> (site_action_id is null));--> statement-breakpoint
CREATE UNIQUE INDEX "one_open_site_flow" ON "flows" USING btree ((true)) WHERE ended_at is null and site_action_id is not null;--> statement-breakpoint
INSERT INTO "flows" ("uuid", "site_action_id", "kind", "state", "requested_by", "held", "held_since", "abort_requested", "error", "started_at", "ended_at")
SELECT gen_random_uuid(), action."id", action."name",
  CASE WHEN action."state" = 'complete' THEN 'succeeded' WHEN action."state" = 'stopped' THEN 'aborted' WHEN action."ended_at" IS NOT NULL THEN 'failed'
    WHEN action."wanted" = 'stop' AND broken."name" IS NOT NULL THEN 'aborting' WHEN failed."name" IS NOT NULL THEN 'failing' ELSE 'running' END,
  action."user",
  CASE WHEN action."wanted" = 'pause' AND action."ended_at" IS NULL THEN 'paused' END,
  CASE WHEN action."wanted" = 'pause' AND action."ended_at" IS NULL THEN action."paused_at" END,
  CASE WHEN action."wanted" = 'stop' THEN 'the action was stopped' END,
  coalesce(action."error", failed."name" || ': ' || coalesce(failed."error", 'failed')),
  action."created_at", action."ended_at"
FROM "site_actions" action
LEFT JOIN LATERAL (SELECT * FROM "site_action_steps" WHERE "action_id" = action."id" AND "state" = 'failed' ORDER BY "position" LIMIT 1) failed ON true
LEFT JOIN LATERAL (SELECT * FROM "site_action_steps" WHERE "action_id" = action."id" AND "state" IN ('failed', 'skipped') ORDER BY "position" LIMIT 1) broken ON true;--> statement-breakpoint
INSERT INTO "flow_steps" ("uuid", "flow_uuid", "phase", "position", "interface", "step", "priority", "origin", "reason", "in_band", "state", "started_at", "ended_at", "error")
SELECT gen_random_uuid(), flow."uuid", CASE WHEN step."name" IN ('final_report', 'tag_revision') THEN 'cleanup' ELSE 'main' END,
  step."position", 'site', step."name", 0, 'core', 'the action''s own step', false,
  CASE step."state" WHEN 'done' THEN 'succeeded' ELSE step."state" END, step."started_at", step."ended_at", step."error"
FROM "site_action_steps" step JOIN "flows" flow ON flow."site_action_id" = step."action_id";--> statement-breakpoint
-- Nobody of the release before goes on with an action, or makes another: it would keep them where nobody looks any more.
-- What it reads (columns of site_actions, site_action_steps) stays until the release after this one.
UPDATE "site_actions" SET "needs" = 2, "token" = "token" + 1, "fit_token" = "token" + 1,
  "holder" = NULL, "expires_at" = CASE WHEN "ended_at" IS NULL THEN least("expires_at", now()) END;--> statement-breakpoint
ALTER TABLE "site_actions" ALTER COLUMN "needs" SET DEFAULT 2;--> statement-breakpoint
ALTER TABLE "site_actions" ALTER COLUMN "name" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "site_actions" ADD CONSTRAINT "made_as_flow" CHECK (needs >= 2);--> statement-breakpoint
DROP INDEX "one_open_site_action";

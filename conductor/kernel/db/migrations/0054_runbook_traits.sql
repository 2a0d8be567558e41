ALTER TABLE "runbooks" ADD COLUMN "description" text;--> statement-breakpoint
ALTER TABLE "runbooks" ADD COLUMN "traits" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
UPDATE "runbooks" SET "traits" = jsonb_build_array("name");

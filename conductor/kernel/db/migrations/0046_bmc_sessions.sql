CREATE TABLE "bmc_sessions" (
	"origin" text NOT NULL,
	"path" text NOT NULL,
	"username" text NOT NULL,
	"conductor" text NOT NULL,
	"opened_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"left_at" timestamp (3) with time zone,
	CONSTRAINT "bmc_sessions_origin_path_pk" PRIMARY KEY("origin","path")
);
--> statement-breakpoint
CREATE INDEX "bmc_sessions_left_at_index" ON "bmc_sessions" USING btree ("left_at");--> statement-breakpoint
CREATE INDEX "bmc_sessions_conductor_index" ON "bmc_sessions" USING btree ("conductor") WHERE left_at is null;
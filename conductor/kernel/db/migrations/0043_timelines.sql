CREATE TABLE "database_timelines" (
	"system_identifier" text NOT NULL,
	"timeline" integer NOT NULL,
	"next_xid" text NOT NULL,
	"lsn" text NOT NULL,
	"met_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"behind" text,
	CONSTRAINT "database_timelines_system_identifier_timeline_pk" PRIMARY KEY("system_identifier","timeline")
);

CREATE TABLE "inspection_rules" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "inspection_rules_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"uuid" uuid PRIMARY KEY NOT NULL,
	"description" text,
	"priority" integer DEFAULT 0 NOT NULL,
	"phase" text DEFAULT 'main' NOT NULL,
	"scope" text,
	"sensitive" boolean DEFAULT false NOT NULL,
	"conditions" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"actions" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"sealed" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone,
	CONSTRAINT "inspection_rules_id_unique" UNIQUE("id")
);

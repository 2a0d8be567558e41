CREATE TABLE "receipt_keys" (
	"fingerprint" text PRIMARY KEY NOT NULL,
	"public_key" text NOT NULL,
	"private_key" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"retired_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "receipts" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "receipts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"uuid" uuid PRIMARY KEY NOT NULL,
	"flow_uuid" uuid NOT NULL,
	"node_uuid" uuid NOT NULL,
	"node_name" text,
	"serial_number" text,
	"action_id" text,
	"preserve_local_storage" boolean NOT NULL,
	"disks_wiped" integer NOT NULL,
	"disks_left_alone" integer NOT NULL,
	"key_fingerprint" text NOT NULL,
	"signed_at" timestamp (3) with time zone NOT NULL,
	"envelope" text NOT NULL,
	CONSTRAINT "receipts_id_unique" UNIQUE("id"),
	CONSTRAINT "receipts_flowUuid_unique" UNIQUE("flow_uuid")
);
--> statement-breakpoint
ALTER TABLE "receipts" ADD CONSTRAINT "receipts_key_fingerprint_receipt_keys_fingerprint_fk" FOREIGN KEY ("key_fingerprint") REFERENCES "public"."receipt_keys"("fingerprint") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "one_receipt_key_in_use" ON "receipt_keys" USING btree (("retired_at" is null)) WHERE retired_at is null;--> statement-breakpoint
CREATE INDEX "receipts_node_uuid_id_index" ON "receipts" USING btree ("node_uuid","id");--> statement-breakpoint
CREATE INDEX "receipts_node_name_id_index" ON "receipts" USING btree ("node_name","id");
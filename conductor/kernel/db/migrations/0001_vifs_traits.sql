CREATE TABLE "node_traits" (
	"node_uuid" uuid NOT NULL,
	"trait" text NOT NULL,
	CONSTRAINT "node_traits_node_uuid_trait_pk" PRIMARY KEY("node_uuid","trait")
);
--> statement-breakpoint
CREATE TABLE "node_vifs" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "node_vifs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"node_uuid" uuid NOT NULL,
	"vif_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "node_traits" ADD CONSTRAINT "node_traits_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "node_vifs" ADD CONSTRAINT "node_vifs_node_uuid_nodes_uuid_fk" FOREIGN KEY ("node_uuid") REFERENCES "public"."nodes"("uuid") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "one_vif_per_node" ON "node_vifs" USING btree ("node_uuid");
ALTER TABLE "agent_sessions" ADD COLUMN "served" text;--> statement-breakpoint
ALTER TABLE "agent_sessions" ADD COLUMN "attestation" jsonb;--> statement-breakpoint
ALTER TABLE "node_tpms" ADD COLUMN "attestation_key" jsonb;
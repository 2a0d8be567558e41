CREATE INDEX "agent_logs_flow_uuid_index" ON "agent_logs" USING btree ("flow_uuid");--> statement-breakpoint
CREATE INDEX "flow_events_step_uuid_index" ON "flow_events" USING btree ("step_uuid");
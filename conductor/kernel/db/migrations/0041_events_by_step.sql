ALTER TABLE "flow_events" DROP CONSTRAINT "flow_events_flow_uuid_flows_uuid_fk";
